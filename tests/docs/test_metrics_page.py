"""The glossary of metrics: every name that the code writes or reads is on the page."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
KINDS = (
    "reward|grade|episode|response|rollout|train|policy|sampler|staleness|time|throughput|memory"
)
NAME = re.compile(rf"[\"`]((?:{KINDS})/[a-z_]+)[\"`]")


def test_the_glossary_has_every_metric_of_the_code():
    code = "".join(path.read_text() for path in sorted((ROOT / "agents").rglob("*.py")))
    page = (ROOT / "docs/metrics.md").read_text()
    names = set(NAME.findall(code))
    assert len(names) > 20
    assert names <= set(NAME.findall(page))
