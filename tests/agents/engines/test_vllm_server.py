"""A vLLM server in other processes, beyond the contract of samplers, and how it fails."""

import json
import re
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import torch
from helpers import text_models, torchrun, vllm_model
from helpers.vllm_model import BOUND, LENGTH, differences, observations, token_lists
from helpers.vllm_served import end, served

from agents.engines.vllm import access
from agents.engines.vllm import weight_transfer as weights
from agents.engines.vllm.remote_sampler import RemoteSampler


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return vllm_model.write(tmp_path_factory.mktemp("words"))


@pytest.fixture(scope="module")
def trainer(folder):
    return vllm_model.trainer(folder)


@pytest.fixture(scope="module")
def url(folder, tmp_path_factory):
    """One server for all tests, since it takes long to start."""
    with served(folder, tmp_path_factory.mktemp("log") / "log") as (address, _):
        yield address


def asking(url, engine, **options) -> RemoteSampler:
    return RemoteSampler(url, engine.chat, engine.sampling, LENGTH, **options)


@pytest.fixture
def sampler(url, trainer):
    sampler = asking(url, trainer)
    sampler.load_weights(trainer.checkpoint_weights())
    yield sampler
    sampler.close()


@pytest.mark.vllm
def test_a_stop_string_ends_a_response_at_the_token_that_completes_it(
    sampler, trainer, monkeypatch
):
    prompts = sampler.encode(observations(group_size=12))
    whole = sampler.generate(prompts, (5,))
    stop = tuple({text[7:9] for text in whole.texts[::12]} - {""})
    with monkeypatch.context() as patch:
        patch.setattr(trainer.chat, "stop", stop)
        stopped = sampler.generate(prompts, (5,))
    text_models.assert_stopped(stopped, whole, trainer.chat, stop)


@pytest.mark.vllm
def test_a_response_depends_on_the_seed_and_not_on_what_is_sampled_beside_it(sampler):
    prompts = sampler.encode(observations(group_size=3))
    whole = token_lists(sampler.generate(prompts, (7,)))
    assert len({tuple(tokens) for tokens in whole[:3]}) == 3
    with ThreadPoolExecutor(2) as pool:
        other = pool.submit(sampler.generate, prompts, (8,))
        assert token_lists(sampler.generate(prompts[:6], (7,))) == whole[:6]
    assert token_lists(other.result()) != whole


@pytest.mark.vllm
def test_the_next_trainer_is_served_after_one_that_was_killed_amid_a_handover(
    sampler, url, trainer
):
    sampler.client.post("/pause?mode=wait")
    sampler.client.post("/start_weight_update")
    name, weight = next(iter(trainer.checkpoint_weights()))
    body = weights._announcement([(name, weight)])
    with sampler.client.posting("/update_weights", body):
        wait = sampler._group.start([weight])
    wait()
    other = asking(url, trainer)
    other.load_weights(trainer.checkpoint_weights())
    responses = other.generate(other.encode(observations()), (0,))
    assert differences(trainer, responses).max() < BOUND


@pytest.mark.vllm
def test_what_vllm_refuses_is_one_line(sampler, trainer):
    prompts = sampler.encode(observations())
    sampler.sampling = replace(trainer.sampling, temperature=3.0)
    with pytest.raises(ValueError, match=r"^the vLLM server at \S+ cannot generate: [^\n]*3.0"):
        sampler.generate(prompts, (0,))
    sampler.sampling, sampler.max_response_length = trainer.sampling, 1000
    with pytest.raises(ValueError, match=r"^a prompt of \d+ tokens [^\n]*raise max_model_len"):
        sampler.generate(prompts, (0,))


def status(url: str, path: str, key: str | None) -> int:
    """Of a request with this key."""
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    request = urllib.request.Request(f"{url}{path}", b"{}", headers)
    try:
        return urllib.request.urlopen(request, timeout=30).status
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.vllm
@pytest.mark.parametrize(
    "path",
    [
        *("/inference/v1/generate", "/v1/completions", "/invocations", "/server_info", "/version"),
        *("/pause", "/resume", "/is_paused", "/abort_requests", "/sleep", "/reset_prefix_cache"),
        *("/init_weight_transfer_engine", "/start_weight_update", "/update_weights"),
        *("/finish_weight_update", "/weight_checker", "/collective_rpc", "/load", "/docs"),
    ],
)
def test_nothing_is_answered_without_the_key(url, path):
    assert [status(url, path, key) for key in (None, "", "another")] == [401] * 3


@pytest.mark.vllm
def test_what_could_run_any_method_of_the_workers_is_closed_with_the_key_too(url):
    key = access.api_key()
    assert status(url, "/collective_rpc", key) == 404
    assert status(url, "/pause?mode=none", key) == 400


SAMPLE = {"token_ids": [1], "stream": True, "sampling_params": {"max_tokens": 2}}


@pytest.mark.vllm
@pytest.mark.parametrize(
    "change",
    [
        {"token_ids": [10**9]},
        {"token_ids": 5},
        *({"sampling_params": {"max_tokens": 2} | odd} for odd in ({"n": 10**9}, {"n": 0})),
        *({"sampling_params": {"extra_args": {"banned": odd}}} for odd in (5, ["a"], {"a": 1})),
    ],
    ids=str,
)
def test_a_request_out_of_bounds_is_refused_and_the_server_goes_on(sampler, change):
    with pytest.raises(ValueError, match=r"^the vLLM server at \S+ cannot generate: [^\n]+$"):
        list(sampler.client.generate([lambda: SAMPLE | change]))
    assert len(sampler.generate(sampler.encode(observations()), (0,)).texts) == 4


@pytest.mark.vllm
def test_banned_tokens_that_the_model_does_not_have_do_no_harm(sampler):
    odd = {"sampling_params": {"max_tokens": 2, "extra_args": {"banned": [-1, 10**9]}}}
    assert list(sampler.client.generate([lambda: SAMPLE | odd]))


@pytest.mark.vllm
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"shapes": [[10**6, 10**6]]}, "has the shape"),
        ({"shapes": [[-1]]}, "has the shape"),
        ({"dtype_names": ["load"]}, "load.* is no dtype of weights"),
        ({"dtype_names": ["int8"]}, "int8.* is no dtype of weights"),
        ({"names": ["other"]}, "'other' is no weight of this model"),
        ({"worker": 1}, "worker"),
    ],
    ids=str,
)
def test_an_announcement_that_fits_no_model_allocates_nothing(sampler, trainer, change, words):
    name, weight = next(iter(trainer.checkpoint_weights()))
    usual = {"names": [name], "dtype_names": ["float32"], "shapes": [list(weight.shape)]}
    sampler.client.post("/start_weight_update")
    with pytest.raises(ValueError, match=f"cannot update weights: [^\n]*{words}"):
        sampler.client.post("/update_weights", {"update_info": usual | change})
    sampler._group = None
    sampler.load_weights(trainer.checkpoint_weights())
    assert (
        differences(trainer, sampler.generate(sampler.encode(observations()), (0,))).max() < BOUND
    )


@pytest.mark.vllm
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda weights: weights[1:], "1 weights are missing"),
        (lambda weights: [*weights, ("other", torch.ones(2))], "'other' is no weight of this"),
        (lambda weights: [weights[0], *weights], "comes twice"),
    ],
)
def test_weights_of_another_model_are_refused(sampler, trainer, change, words):
    prompts = sampler.encode(observations())
    with pytest.raises(ValueError, match=f"cannot update weights: [^\n]*{words}"):
        sampler.load_weights(change(list(trainer.checkpoint_weights())))
    sampler.load_weights(trainer.checkpoint_weights())
    assert differences(trainer, sampler.generate(prompts, (0,))).max() < BOUND


@pytest.mark.vllm
def test_two_ranks_share_a_server(url, folder, tmp_path):
    torchrun.run("vllm_server_ranks.py", url, folder, tmp_path)
    results = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in (0, 1)]
    for one in results:
        assert one["likeliest"] == one["gone_through"] == [True, True]
        assert max(one["differences"]) < BOUND
        assert re.match(r"the vLLM server at \S+ cannot update weights: ", one["faults"][0])
    assert results[0]["faults"] == results[1]["faults"]


@pytest.mark.vllm
def test_a_server_that_dies_is_told_in_one_line(folder, trainer, tmp_path):
    with served(folder, tmp_path / "log") as (url, processes):
        sampler = asking(url, trainer)
        sampler.load_weights(trainer.checkpoint_weights())
        prompts = sampler.encode(observations(group_size=8))
        sampler.max_response_length = 200
        with pytest.raises(ValueError, match=r"^the vLLM server at \S+ was lost [^\n]*--resume$"):
            sampler.generate(prompts, (0,), lambda *_: end(processes))
        with pytest.raises(ValueError, match=r"^no vLLM server at [^\n]*agents.engines.vllm_serv"):
            sampler.load_weights(trainer.checkpoint_weights())
