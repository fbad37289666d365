"""Protocol between a trainer and a vLLM server, without vLLM: results, weights, failures."""

import ast
import base64
import http.server
import io
import json
import math
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import httpx2
import numpy as np
import pytest
import torch
from helpers import tiny_engines
from PIL import Image

from agents.engines.load import load_model
from agents.engines.sampling import Sampling
from agents.engines.vllm import client
from agents.engines.vllm import weight_transfer as weights
from agents.engines.vllm.client import VLLMClient
from agents.engines.vllm.compatibility import BANNED
from agents.engines.vllm.remote_sampler import RemoteSampler
from agents.engines.vllm.requests import _sampling_requests
from agents.engines.vllm_server import OPTIONS, command
from agents.errors import SamplerError


def server(url: str) -> VLLMClient:
    return VLLMClient(url, timeout=1)


def sample(url: str, count: int = 1) -> list:
    """Pieces of the responses to some requests."""
    return list(server(url).generate([dict] * count))


def test_an_unreachable_server_is_an_error_that_says_how_to_start_one():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    for call in (server(address).config, lambda: sample(address)):
        with pytest.raises(
            ValueError, match=r"^no vLLM server at [^\n]*--model DIR --port \d+`[^\n]*$"
        ):
            call()
    with pytest.raises(
        ValueError, match=r"^'node7:8000' is not the address of a server: write http://"
    ):
        server("node7:8000")


@contextmanager
def answering(lines: list[bytes], status: int = 200, pause: float = 0.02):
    """A server that answers with these lines and closes the connection."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.send_response(status)
            self.end_headers()
            with suppress(BrokenPipeError, ConnectionResetError):
                for line in lines:
                    self.wfile.write(line)
                    time.sleep(pause)

        def log_message(self, *_):
            return

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        # It looks this often whether it shall shut down: every half second by default.
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


ERROR = b'{"error": {"message": "no\\nroom", "code": 400}}'


@pytest.mark.parametrize(
    ("lines", "status", "words"),
    [
        ([b""], 404, r"answers 404 [^\n]*it was not started with `python -m agents.engines.vllm_"),
        (
            [ERROR],
            403,
            r"answers 403 [^\n]*it was not started with `python -m agents.engines.vllm_",
        ),
        ([ERROR], 400, "cannot generate: no room$"),
        ([b"no room"], 500, "cannot generate: no room$"),
        ([b"data: " + ERROR + b"\n\n"], 200, "cannot generate: no room$"),
        ([b"\n", b'data: {"tokens": [1'], 200, r"was lost [^\n]*--resume$"),
        ([b"\n"], 200, r"was lost [^\n]*the stream ended before its last line[^\n]*--resume$"),
        ([b"\n"] * 100, 200, r"has sent no result for [^\n]*restart it$"),
    ],
)
def test_a_server_that_does_not_answer_as_it_should_is_told_in_one_line(lines, status, words):
    with (
        answering(lines, status) as address,
        pytest.raises(ValueError, match=rf"^the (vLLM )?server at {address} {words}"),
    ):
        sample(address)


def test_a_request_that_fails_ends_others_that_have_not_begun(monkeypatch):
    monkeypatch.setattr(client, "CONNECTIONS", 1)
    with answering([ERROR], 400) as url, pytest.raises(SamplerError, match="no room"):
        sample(url, 3)


def test_pieces_of_all_requests_come_before_the_last_is_complete_and_an_early_end_closes_all():
    pieces = [b'data: {"number": 1}\n\n'] * 1000 + [b"data: [DONE]\n\n"]
    with answering(pieces) as address:
        results = server(address).generate([dict] * 5)
        seen = {next(results)[0] for _ in range(50)}
        results.close()
    assert seen == set(range(5))
    with answering(pieces[-3:], pause=0) as address:
        assert sorted(sample(address, 3)) == [(k, {"number": 1}) for k in (0, 0, 1, 1, 2, 2)]


def config(**changes) -> dict:
    """Of a server, with changes to that of its model."""
    model = {"dtype": "torch.float32", "max_model_len": 4096, "logits_processors": ["banned"]}
    model |= {"logprobs_mode": "processed_logprobs"} | changes
    ranks = {"world_size": 2, "data_parallel_size": 3}
    transfer = {"backend": weights.GLOO}
    return {"model_config": model, "parallel_config": ranks, "weight_transfer_config": transfer}


@pytest.fixture
def connected(monkeypatch, tiny_folder):
    """A sampler of a server with this configuration."""
    _, chat = load_model(str(tiny_folder), torch.device("cpu"), torch.float32)

    def sampler(**changes):
        monkeypatch.setattr(VLLMClient, "config", lambda _: config(**changes))
        return RemoteSampler("http://there:1", chat, Sampling(), 24)

    return sampler


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"logprobs_mode": "raw_logprobs"}, "start it without --logprobs-mode"),
        ({"logits_processors": None}, "tokens that are never sampled, [^\n]* has none: start it"),
    ],
)
def test_a_server_with_other_options_is_refused(connected, changes, words):
    with pytest.raises(ValueError, match=f"^[^\n]*http://there:1 [^\n]*{words}|{words}"):
        connected(**changes)
    assert connected()._num_workers == 6


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({"/version": {"version": "0.29.1"}}, r"vLLM 0.29.1 is too old for a server[^\n]*0.30"),
        ({"/is_paused": 200}, "takes weights from anyone [^\n]*agents.engines.vllm.access.Require"),
    ],
)
def test_a_server_that_is_too_old_or_open_is_refused(monkeypatch, answers, words):
    usual = {"/version": {"version": "0.30.0"}, "/is_paused": 401}
    usual |= {"/server_info?config_format=json": {"vllm_config": {"a": 1}}}

    def request(self, method, path, timeout, headers=None):
        assert (headers == {}) == (path == "/is_paused")
        answer = (usual | answers)[path]
        return (
            httpx2.Response(answer)
            if isinstance(answer, int)
            else httpx2.Response(200, json=answer)
        )

    monkeypatch.setattr(VLLMClient, "_request", request)
    with pytest.raises(ValueError, match=f"^[^\n]*{words}[^\n]*$"):
        server("http://there:1").config()
    answers.clear()
    assert server("http://there:1").config() == {"a": 1}


class FakeServer(VLLMClient):
    """A client of a server that receives over gloo, and the posts that it got."""

    def __init__(self, fails=()):
        super().__init__("http://there:1", 20)
        self.posts, self.received, self.fails = [], [], list(fails)
        store = weights._rendezvous("127.0.0.1", 0, 2, hosts=True)
        own = weights._rendezvous("127.0.0.1", store.port, 2, hosts=False)
        with ThreadPoolExecutor(2) as pool:
            members = [(store, 0), (own, 1)]
            joined = [pool.submit(weights._connect, *one, 2, 20) for one in members]
            self.trainer, self.group = (one.result() for one in joined)

    def post(self, path, body=None):
        self.posts.append(path)
        if path in self.fails:
            self.fails.remove(path)
            self.group = self.group if path != "/update_weights" else None
            raise SamplerError(f"{path} fails")
        if path == "/update_weights":
            self.receive(**json.loads(json.dumps(body))["update_info"])

    def receive(self, names, dtype_names, shapes):
        if not names:
            return
        missing = dict(zip(names, map(tuple, shapes), strict=True))
        dtype = weights._take_layout(names, dtype_names, shapes, missing)
        flat = torch.empty(sum(map(math.prod, shapes)), dtype=dtype)
        self.group.broadcast(flat)
        parts = flat.split([math.prod(shape) for shape in shapes])
        views = [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]
        self.received += zip(names, views, strict=True)


PHASES = ["/start_weight_update", "/update_weights", "/finish_weight_update"]


def test_weights_arrive_unchanged_in_every_size_and_dtype(monkeypatch):
    monkeypatch.setattr(weights, "BUCKET", 1000)
    sent = [
        ("a.weight", torch.randn(3, 5)),
        ("a.bias", torch.randn(5).to(torch.bfloat16)),
        ("one", torch.tensor(2.5)),
        ("large", torch.randn(40, 50)),
        ("turned", torch.randn(4, 6).T),
        ("none", torch.empty(0, 3)),
        *((f"small.{k}", torch.full((9,), float(k))) for k in range(60)),
    ]
    client = FakeServer()
    weights.send(client, client.trainer, iter(sent))
    assert [name for name, _ in client.received] == [name for name, _ in sent]
    for (name, weight), (_, copy) in zip(sent, client.received, strict=True):
        assert copy.dtype == weight.dtype, name
        assert torch.equal(copy, weight), name
    assert [client.posts[0], *sorted(set(client.posts[1:-1])), client.posts[-1]] == PHASES


def test_weights_that_fail_end_the_update():
    def broken():
        yield "one", torch.ones(2)
        raise MemoryError("the trainer's own")

    client = FakeServer()
    with pytest.raises(MemoryError):
        weights.send(client, client.trainer, broken())
    assert client.posts == [PHASES[0], PHASES[2]]


def test_a_server_that_refuses_weights_is_not_waited_for():
    client = FakeServer(fails=["/update_weights"])
    with pytest.raises(SamplerError, match=r"^/update_weights fails$"):
        weights.send(client, client.trainer, [("one", torch.ones(2))])
    assert client.posts == PHASES


def test_an_update_that_a_trainer_left_unfinished_is_ended():
    client = FakeServer(fails=["/start_weight_update", "/finish_weight_update"])
    weights.send(client, client.trainer, [("one", torch.ones(2))])
    assert client.posts == [PHASES[0], PHASES[2], PHASES[0], PHASES[1], *PHASES[1:]]


def test_an_unreachable_trainer_is_an_error_with_its_address(monkeypatch):
    monkeypatch.setattr(weights, "RENDEZVOUS_TIMEOUT", 0.1)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ConnectionError, match=rf"127.0.0.1[^\n]*{port}[^\n]*$"):
        weights._rendezvous("127.0.0.1", port, 2, hosts=False)


def test_the_sender_notices_a_receiver_that_leaves():
    client = FakeServer()
    client.group = None
    with pytest.raises(ConnectionError, match=r"by peer|[Bb]roken pipe"):
        any(client.trainer.broadcast(torch.zeros(2**20)) for _ in range(10**6))


def test_images_are_sent_in_the_size_in_which_the_model_sees_them(connected):
    sampler = connected()
    processor = sampler.chat.image_processor
    prompts = sampler.encode(tiny_engines.observations(num_images=(0, 1, 3)))
    requests = _sampling_requests(prompts, (0,), sampler._convert)
    bodies = [
        json.loads(json.dumps(sampler._body(request, prompts[request.first])))
        for request in requests
    ]
    assert bodies[0]["token_ids"] == list(prompts[0].token_ids)
    assert "content_parts" not in bodies[0]
    for request, body in zip(requests[1:], bodies[1:], strict=True):
        prompt = prompts[request.first]
        assert body["token_ids"] == sampler.chat.collapsed(prompt)
        assert body["return_token_ids"]
        urls = [
            part["url"].removeprefix("data:image/png;base64,") for part in body["content_parts"]
        ]
        images = [np.asarray(Image.open(io.BytesIO(base64.b64decode(url)))) for url in urls]
        assert len(images) == len(prompt.images)
        # The limits of the server's own processor are those of the model.
        processor.size = {"shortest_edge": 1, "longest_edge": 10**8}
        pixels, grid = sampler.chat.patches(images)
        assert torch.equal(grid, prompt.image_grid_thw)
        torch.testing.assert_close(pixels, prompt.pixel_values)


@pytest.mark.parametrize(
    ("backend", "words"),
    [("nccl", "by nccl, and there is no GPU here"), ("ipc", "by ipc"), (None, "by None")],
)
def test_a_back_end_that_cannot_be_used_here_is_told_with_the_one_that_can(
    monkeypatch, backend, words
):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: backend != "nccl")
    with pytest.raises(SamplerError, match=rf"{words}[^\n]*\"backend\": \"agents-gloo\""):
        weights.join(server("http://there:1"), backend, 1)


def test_nccl_is_that_of_vllm_with_an_identifier_that_is_no_pickle(monkeypatch):
    calls, identifier = [], bytes(range(128))
    library = SimpleNamespace(ncclGetUniqueId=lambda: identifier)

    def broadcast(weight, src, stream):
        # NCCL takes this many numbers from the first one on.
        calls.append((weight.as_strided((weight.numel(),), (1,)).tolist(), src))

    communicator = SimpleNamespace(device="cpu", broadcast=broadcast)
    modules = SimpleNamespace(
        NCCLLibrary=lambda: library,
        uid_init_process_group=lambda *words: calls.append(words) or communicator,
    )
    stream = SimpleNamespace(synchronize=lambda: calls.append("received"))
    monkeypatch.setattr(weights, "check_installed", lambda **_: None)
    monkeypatch.setattr(weights.importlib, "import_module", lambda name: modules)
    for name, value in {
        "is_available": True,
        "current_device": 3,
        "current_stream": stream,
    }.items():
        monkeypatch.setattr(torch.cuda, name, lambda value=value: value)
    monkeypatch.setattr(weights, "preserve_process_state", nullcontext)
    monkeypatch.setattr(VLLMClient, "post", lambda self, path, body: calls.append((path, body)))
    group = weights.join(server("http://there:1"), "nccl", 4)
    group.start([torch.arange(4.0).view(2, 2).T, torch.ones(1)])()
    info = {"nccl_unique_id_b64": base64.b64encode(identifier).decode(), "rank_offset": 1}
    info |= {"world_size": 5, "packed": False}
    joined = [("/init_weight_transfer_engine", {"init_info": info}), (identifier, 0, 5, 3)]
    assert sorted(calls[:2], key=str) == sorted(joined, key=str)
    assert calls[2:] == [([0.0, 2.0, 1.0, 3.0], 0), ([1.0], 0), "received"]


def test_the_command_is_that_of_vllm_and_the_users_options_come_last():
    words = command("DIR", {"limit": {"video": 0}}, ["--port", "1", "--dtype", "float16"])
    assert "DIR" in words
    assert words[-4:] == ["--port", "1", "--dtype", "float16"]
    assert words[words.index("--logprobs-mode") + 1] == "processed_logprobs"
    assert words[words.index("--limit") + 1] == '{"video": 0}'


@pytest.mark.parametrize(
    "path", [*map(OPTIONS.get, ["middleware", "worker_extension_cls"]), BANNED]
)
def test_classes_that_vllm_imports_by_name_exist(path):
    # By syntax: the module of the workers can be imported where vLLM is installed only.
    module, _, name = path.replace(":", ".").rpartition(".")
    source = Path(find_spec(module).origin).read_text()
    classes = [node.name for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    assert name in classes


def test_an_error_before_the_first_request_ends_the_iteration(monkeypatch):
    def fail(**_):
        raise LookupError("no transport")

    monkeypatch.setattr("httpx2.AsyncHTTPTransport", fail)
    with pytest.raises(LookupError, match="no transport"):
        list(VLLMClient("http://localhost:1", 5.0).generate([dict]))
