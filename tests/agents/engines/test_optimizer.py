import pytest

from agents.engines.optimizer import Optimization


def test_the_rate_warms_up_linearly_and_decays_by_a_cosine_to_its_floor():
    optimization = Optimization(1e-3, total_steps=104, warmup_steps=4, min_ratio=0.2)
    ratios = [optimization.ratio(step) for step in range(105)]
    assert ratios[:5] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert ratios[54] == pytest.approx(0.6)
    assert ratios[104] == pytest.approx(0.2)
    assert ratios[4:] == sorted(ratios[4:], reverse=True)


def test_after_its_last_step_the_rate_stays_at_its_floor():
    assert Optimization(1e-3, total_steps=10).ratio(50) == pytest.approx(0.1)
