"""What a trainer and a vLLM server say to each other, without vLLM: words, weights, failures."""

import asyncio
import http.server
import json
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import numpy as np
import pytest
import torch
from helpers import tiny_engines, torchrun

from agents.engines.load import load_model
from agents.engines.sampling import Sampling
from agents.engines.vllm import routes, weight_transfer
from agents.engines.vllm.client import Server
from agents.engines.vllm.remote_sampler import RemoteSampler
from agents.engines.vllm.server import command


def server(url: str) -> Server:
    return Server(url, patience=0.5)


def test_where_there_is_no_server_the_line_says_how_to_start_one():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(
        ValueError, match=r"^no vLLM server at [^\n]*--model DIR --port \d+`[^\n]*$"
    ):
        list(server(address).ask("about"))
    with pytest.raises(ValueError, match=r"^'node7:8000' is no address of a server: write http://"):
        server("node7:8000")


@contextmanager
def answering(lines: list[bytes], status: int = 200):
    """A server that says what it is told to, and then nothing."""

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
        ([b"{}\n"], 200, r"was lost [^\n]*in the middle of an answer[^\n]*--resume$"),
        ([b"{}\n"] * 100, 200, r"lives, but has told nothing for [^\n]*start it again$"),
    ],
)
def test_a_server_that_does_not_answer_as_it_should_is_told_in_one_line(lines, status, words):
    with (
        answering(lines, status) as address,
        pytest.raises(ValueError, match=rf"^the (vLLM )?server at {address} {words}"),
    ):
        list(server(address).ask("about"))


def test_what_a_server_tells_is_sent_before_it_has_told_all():
    read = asyncio.Event()

    async def answer(engine, words, tell):
        tell({"number": 1})
        await asyncio.wait_for(read.wait(), 30)
        tell({"number": 2})

    async def reading():
        lines = routes._lines(answer, None, {})
        found = [json.loads(await anext(lines))]
        read.set()
        return found + [json.loads(line) async for line in lines]

    assert asyncio.run(reading()) == [{"number": 1}, {"number": 2}, {"done": True}]


def linked(send, receive) -> list:
    """What both sides of a group of two return, each in a thread."""
    device = torch.device("cpu")
    store = weight_transfer.place("127.0.0.1", 0, 2, hosts=True)

    def member(rank, act):
        there = (
            store if rank == 0 else weight_transfer.place("127.0.0.1", store.port, 2, hosts=False)
        )
        return act(weight_transfer.connect(there, rank, 2, device, 20))

    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(member, 0, send), pool.submit(member, 1, receive)]
        return [one.exception() or one.result() for one in both]


def test_weights_arrive_as_they_were_sent_whatever_their_size_and_dtype(monkeypatch):
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
    _, got = linked(lambda link: link.send(iter(sent)), lambda link: list(link.received()))
    assert [name for name, _ in got] == [name for name, _ in sent]
    for (name, weight), (_, told) in zip(sent, got, strict=True):
        assert told.dtype == weight.dtype, name
        assert torch.equal(told, weight), name


def test_who_waits_for_weights_is_told_that_no_more_come():
    def broken():
        yield "one", torch.ones(2)
        raise MemoryError("the trainer's own")

    sender, receiver = linked(lambda link: link.send(broken()), lambda link: list(link.received()))
    assert isinstance(sender, MemoryError)
    assert isinstance(receiver, ConnectionError)
    assert "gave up" in str(receiver)


def test_a_trainer_that_cannot_be_reached_is_told_by_its_name(monkeypatch):
    monkeypatch.setattr(weight_transfer, "MEETING", 1.0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ConnectionError, match=rf"127.0.0.1[^\n]*{port}[^\n]*$"):
        weight_transfer.place("127.0.0.1", port, 2, hosts=False)


def test_a_receiver_that_dies_is_noticed_by_the_sender():
    store = weight_transfer.place("127.0.0.1", 0, 2, hosts=True)
    script = (
        "import sys, torch; from agents.engines.vllm import weight_transfer;"
        "store = weight_transfer.place('127.0.0.1', int(sys.argv[1]), 2, hosts=False);"
        "link = weight_transfer.connect(store, 1, 2, torch.device('cpu'), 60);"
        "next(link.received()); import os; os.kill(os.getpid(), 9)"
    )
    words = [sys.executable, "-c", script, str(store.port)]
    receiver = subprocess.Popen(words, env=torchrun.ENVIRONMENT)
    link = weight_transfer.connect(store, 0, 2, torch.device("cpu"), 60)
    # What the operating system says at once, not that its patience came to an end.
    with pytest.raises(ConnectionError, match=r"by peer|[Bb]roken pipe"):
        link.send((str(number), torch.zeros(2**20)) for number in range(10**6))
    assert receiver.wait() == -9


def test_pictures_arrive_as_they_were_sent(tiny_folder):
    _, chat = load_model(str(tiny_folder), torch.device("cpu"), torch.float32)
    told = {"dtype": "float32", "max_length": 4096, "num_workers": 1, "device": "cpu"}
    told["logprobs_mode"] = "processed_logprobs"
    rows = tiny_engines.observations(num_images=(0, 1, 3))
    with answering([json.dumps({"about": told}).encode() + b"\n", b'{"done": true}\n']) as url:
        sampler = RemoteSampler(url, chat, Sampling(), 24)
        prompts = sampler.encode(rows)
        forms = [json.loads(json.dumps(sampler._form(prompt))) for prompt in prompts]
    assert routes._prompt(forms[0]) == {"prompt_token_ids": list(prompts[0].token_ids)}
    for prompt, form in zip(prompts[1:], forms[1:], strict=True):
        read = routes._prompt(form)
        assert read["prompt_token_ids"] == chat.collapsed(prompt)
        pictures = [np.asarray(picture) for picture in read["multi_modal_data"]["image"]]
        assert len(pictures) == len(prompt.images)
        assert all(map(np.array_equal, pictures, prompt.images))
        size = chat.image_processor.size
        assert read["mm_processor_kwargs"]["max_pixels"] == size["longest_edge"]


def test_the_command_is_that_of_vllm_and_the_users_options_come_last():
    words = command("DIR", ["--port", "1", "--dtype", "float16"])
    assert "DIR" in words
    assert words[-4:] == ["--port", "1", "--dtype", "float16"]
    assert words[words.index("--logprobs-mode") + 1] == "processed_logprobs"
