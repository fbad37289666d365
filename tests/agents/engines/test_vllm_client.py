"""Protocol between a trainer and a vLLM server, without vLLM: results, weights, failures."""

import ast
import asyncio
import http.server
import json
import re
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers import tiny_engines, torchrun

from agents.engines.load import load_model
from agents.engines.sampling import Sampling
from agents.engines.vllm import routes, weight_transfer
from agents.engines.vllm.client import VLLMClient
from agents.engines.vllm.remote_sampler import RemoteSampler
from agents.engines.vllm.server import BANNED, OPTIONS, command


def server(url: str) -> VLLMClient:
    return VLLMClient(url, timeout=0.5)


def test_an_unreachable_server_is_an_error_that_says_how_to_start_one():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(
        ValueError, match=r"^no vLLM server at [^\n]*--model DIR --port \d+`[^\n]*$"
    ):
        list(server(address).call("about"))
    with pytest.raises(
        ValueError, match=r"^'node7:8000' is not the address of a server: write http://"
    ):
        server("node7:8000")


@contextmanager
def answering(lines: list[bytes], status: int = 200):
    """A server that answers with these lines and closes the connection."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.send_response(status)
            self.end_headers()
            with suppress(BrokenPipeError):
                for line in lines:
                    self.wfile.write(line)
                    time.sleep(0.02)

        def log_message(self, *_):
            return

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("lines", "status", "words"),
    [
        ([b""], 404, r"answers 404 [^\n]*it was not started with `python -m agents.engines.vllm_"),
        ([b'{"error": "no room"}\n'], 200, "cannot about: no room$"),
        ([b"{}\n", b'{"tokens": [1'], 200, r"was lost [^\n]*--resume$"),
        ([b"{}\n"], 200, r"was lost [^\n]*the stream ended before its last line[^\n]*--resume$"),
        ([b"{}\n"] * 100, 200, r"is alive, but has sent no result for [^\n]*restart it$"),
    ],
)
def test_a_server_that_does_not_answer_as_it_should_is_told_in_one_line(lines, status, words):
    with (
        answering(lines, status) as address,
        pytest.raises(ValueError, match=rf"^the (vLLM )?server at {address} {words}"),
    ):
        list(server(address).call("about"))


def test_results_are_streamed_before_the_last_one_is_ready():
    read = asyncio.Event()

    async def handler(engine, arguments, send):
        send({"number": 1})
        await asyncio.wait_for(read.wait(), 30)
        send({"number": 2})

    async def reading():
        lines = routes._lines(handler, None, {})
        first = json.loads(await anext(lines))
        read.set()
        return [first] + [json.loads(line) async for line in lines]

    assert asyncio.run(reading()) == [{"number": 1}, {"number": 2}, {"done": True}]


def run_members(send, receive) -> list:
    """Results or errors of the two members of a group, each in a thread."""
    device = torch.device("cpu")
    store = weight_transfer.rendezvous("127.0.0.1", 0, 2, hosts=True)

    def member(rank, act):
        own_store = (
            store
            if rank == 0
            else weight_transfer.rendezvous("127.0.0.1", store.port, 2, hosts=False)
        )
        return act(weight_transfer.connect(own_store, rank, 2, device, 20))

    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(member, 0, send), pool.submit(member, 1, receive)]
        return [one.exception() or one.result() for one in both]


def test_weights_arrive_unchanged_in_every_size_and_dtype(monkeypatch):
    monkeypatch.setattr(weight_transfer, "BUCKET", 1000)
    sent = [
        ("a.weight", torch.randn(3, 5)),
        ("a.bias", torch.randn(5).to(torch.bfloat16)),
        ("one", torch.tensor(2.5)),
        ("large", torch.randn(40, 50)),
        ("turned", torch.randn(4, 6).T),
        ("none", torch.empty(0, 3)),
        ("counts", torch.arange(7)),
        *((f"small.{k}", torch.full((9,), float(k))) for k in range(60)),
    ]
    _, received = run_members(
        lambda group: group.send(iter(sent)), lambda group: list(group.receive())
    )
    assert [name for name, _ in received] == [name for name, _ in sent]
    for (name, weight), (_, copy) in zip(sent, received, strict=True):
        assert copy.dtype == weight.dtype, name
        assert torch.equal(copy, weight), name


def test_a_sender_that_fails_aborts_the_receiver():
    def broken():
        yield "one", torch.ones(2)
        raise MemoryError("the trainer's own")

    sender, receiver = run_members(
        lambda group: group.send(broken()), lambda group: list(group.receive())
    )
    assert isinstance(sender, MemoryError)
    assert isinstance(receiver, ConnectionError)
    assert "aborted" in str(receiver)


def test_an_unreachable_trainer_is_an_error_with_its_address(monkeypatch):
    monkeypatch.setattr(weight_transfer, "RENDEZVOUS_TIMEOUT", 1.0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ConnectionError, match=rf"127.0.0.1[^\n]*{port}[^\n]*$"):
        weight_transfer.rendezvous("127.0.0.1", port, 2, hosts=False)


def test_the_sender_notices_a_receiver_that_dies():
    store = weight_transfer.rendezvous("127.0.0.1", 0, 2, hosts=True)
    script = (
        "import sys, torch; from agents.engines.vllm import weight_transfer;"
        "store = weight_transfer.rendezvous('127.0.0.1', int(sys.argv[1]), 2, hosts=False);"
        "group = weight_transfer.connect(store, 1, 2, torch.device('cpu'), 60);"
        "next(group.receive()); import os; os.kill(os.getpid(), 9)"
    )
    words = [sys.executable, "-c", script, str(store.port)]
    receiver = subprocess.Popen(words, env=torchrun.ENVIRONMENT)
    group = weight_transfer.connect(store, 0, 2, torch.device("cpu"), 60)
    # What the operating system says at once, not that its timeout came to an end.
    with pytest.raises(ConnectionError, match=r"by peer|[Bb]roken pipe"):
        group.send((str(number), torch.zeros(2**20)) for number in range(10**6))
    assert receiver.wait() == -9


def test_images_arrive_unchanged(tiny_folder):
    _, chat = load_model(str(tiny_folder), torch.device("cpu"), torch.float32)
    about = {"dtype": "float32", "max_length": 4096, "num_workers": 1, "device": "cpu"}
    about["logprobs_mode"] = "processed_logprobs"
    rows = tiny_engines.observations(num_images=(0, 1, 3))
    with answering([json.dumps({"about": about}).encode() + b"\n", b'{"done": true}\n']) as url:
        sampler = RemoteSampler(url, chat, Sampling(), 24)
        prompts = sampler.encode(rows)
        converted = [json.loads(json.dumps(sampler._convert(prompt))) for prompt in prompts]
    assert routes._prompt(converted[0]) == {"prompt_token_ids": list(prompts[0].token_ids)}
    for prompt, fields in zip(prompts[1:], converted[1:], strict=True):
        vllm_prompt = routes._prompt(fields)
        assert vllm_prompt["prompt_token_ids"] == chat.collapsed(prompt)
        images = [np.asarray(image) for image in vllm_prompt["multi_modal_data"]["image"]]
        assert len(images) == len(prompt.images)
        assert all(map(np.array_equal, images, prompt.images))
        size = chat.image_processor.size
        assert vllm_prompt["mm_processor_kwargs"]["max_pixels"] == size["longest_edge"]


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


def test_methods_that_vllm_calls_by_name_on_its_workers_exist():
    folder = Path(routes.__file__).parent
    calls = re.findall(r'collective_rpc\("(\w+)"', (folder / "routes.py").read_text())
    receiver = ast.parse((folder / "receiver.py").read_text())
    methods = {node.name for node in ast.walk(receiver) if isinstance(node, ast.FunctionDef)}
    assert calls
    assert set(calls) <= methods
