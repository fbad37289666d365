"""Key of a vLLM server, and bounds on the weights that it takes, without vLLM."""

import asyncio
import json
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import ClassVar

import pytest
import torch

from agents.engines import vllm_server as server
from agents.engines.vllm.access import VARIABLE, RequireKey, api_key, key_file
from agents.engines.vllm.client import VLLMClient
from agents.engines.vllm.weight_transfer import _take_layout
from agents.errors import SamplerError, UsageError


@pytest.fixture
def cache(monkeypatch, tmp_path):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("REASONENV_CACHE", str(tmp_path))
    return tmp_path


def test_the_server_writes_a_key_that_the_trainer_of_the_same_user_reads(cache):
    assert api_key() is None
    with ThreadPoolExecutor(4) as pool:
        (key,) = set(pool.map(lambda _: api_key(create=True), range(20)))
    assert len(key) > 30
    assert api_key() == key
    assert stat.S_IMODE(key_file().stat().st_mode) == 0o600
    assert list(cache.iterdir()) == [key_file()]


def test_the_variable_comes_before_a_file_and_one_that_others_can_read_is_no_key(
    cache, monkeypatch
):
    api_key(create=True)
    key_file().chmod(0o644)
    with pytest.raises(UsageError, match="not readable by you alone: remove it, or set VLLM_API"):
        api_key()
    monkeypatch.setenv(VARIABLE, "mine")
    assert api_key(create=True) == "mine"


@pytest.mark.parametrize("key", ["", " ", "a b", "a\nb", "é", "a\x00"])
def test_a_key_that_no_header_can_hold_is_refused(cache, key):
    api_key(create=True)
    key_file().write_bytes(key.encode())
    with pytest.raises(UsageError, match="holds no key"):
        api_key()


class Recorder(BaseHTTPRequestHandler):
    """Answers the right key alone, and records the key of each request."""

    keys: ClassVar = []

    def do_POST(self):
        self.keys.append(self.headers["Authorization"])
        self.send_response(200 if self.keys[-1] == "Bearer mine" else 401)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        return


def test_the_trainer_sends_the_key_and_a_wrong_one_is_told_without_naming_it(monkeypatch):
    with ThreadingHTTPServer(("127.0.0.1", 0), Recorder) as served:
        threading.Thread(target=served.serve_forever, args=(0.01,), daemon=True).start()
        url = f"http://127.0.0.1:{served.server_port}"
        monkeypatch.setenv(VARIABLE, "mine")
        VLLMClient(url, 1).post("/pause")
        monkeypatch.setenv(VARIABLE, "secret-of-mine")
        with pytest.raises(SamplerError, match=f"another key: set {VARIABLE} to that of") as error:
            VLLMClient(url, 1).post("/pause")
        served.shutdown()
    assert Recorder.keys == ["Bearer mine", "Bearer secret-of-mine"]
    assert "secret-of-mine" not in str(error.value)


async def reached(scope, receive, send):
    await send({"type": "http.response.start", "status": 299, "headers": []})
    await send({"type": "http.response.body", "body": b"reached"})


def answer(path: str, key: str | None = None, *, kind="http", method="POST", root="") -> int:
    """Status of a request to the middleware before an application that answers 299."""
    headers = [] if key is None else [(b"authorization", key.encode())]
    scope = {"type": kind, "path": path, "method": method, "headers": headers, "client": ("a", 1)}
    scope |= {"root_path": root}
    sent = []

    async def receive():
        return {"body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    asyncio.run(RequireKey(reached)(scope, receive, send))
    return sent[0]["status"]


PATHS = ("/pause", "/resume", "/update_weights", "/inference/v1/generate", "/v1/completions")


@pytest.mark.parametrize("path", [*PATHS, "/collective_rpc", "/docs", "/healthy", "/health/", ""])
def test_no_path_answers_without_the_key(monkeypatch, path):
    monkeypatch.setenv(VARIABLE, "mine")
    for key in (None, "", "Bearer", "Bearer ", "Bearer wrong", "mine", "Bearer min"):
        assert answer(path, key) == 401
        assert answer(path, key, kind="websocket") == 401
        assert answer(path, key, method="OPTIONS") == 401


def test_health_is_open_the_key_opens_the_rest_and_a_path_for_nobody_stays_closed(monkeypatch):
    monkeypatch.setenv(VARIABLE, "mine")
    assert answer("/health") == 299
    assert answer("/v1/completions", "Bearer mine") == 299
    assert answer("/collective_rpc", "Bearer mine") == 404
    assert answer("/behind/collective_rpc", "Bearer mine", root="/behind") == 404


def test_a_server_without_a_key_does_not_start(cache):
    with pytest.raises(UsageError, match=f"set {VARIABLE}"):
        RequireKey(reached)


SHAPES = {"a": (2,), "b": (3, 1)}


def test_the_weights_of_the_model_pass_in_any_order():
    missing = dict(SHAPES)
    assert _take_layout(["b"], ["bfloat16"], [[3, 1]], missing) == torch.bfloat16
    assert missing == {"a": (2,)}
    assert _take_layout(["a"], ["float32"], [[2]], missing) == torch.float32
    assert not missing


@pytest.mark.parametrize(
    ("names", "dtypes", "shapes", "words"),
    [
        (["c"], ["float32"], [[1]], "'c' is no weight of this model"),
        (["a", "a"], ["float32"] * 2, [[2], [2]], "'a' is no weight of this model, or comes twice"),
        (["a"], ["float32"], [[3]], r"a has the shape \(3,\) and takes \(2,\)"),
        (["a"], ["float32"], [[2**40, 2**40]], r"a has the shape"),
        (["a"], ["float32"], [[-2]], r"a has the shape"),
        (["a"], ["float32"], [["x"] * 999], r"a has the shape"),
        (["a" * 999], ["float32"], [[3]], r"is no weight"),
        (["a"], ["load"], [[2]], "load"),
        (["a"], ["nothing"], [[2]], "nothing"),
        (["a"], ["int64"], [[2]], "int64"),
        (["a"], [], [[2]], "no dtype"),
        (["a", "b"], ["float32", "bfloat16"], [[2], [3, 1]], "no dtype"),
        (["a"], ["float32"], [], "shorter"),
    ],
)
def test_an_announcement_that_fits_no_model_is_refused(names, dtypes, shapes, words):
    with pytest.raises(ValueError, match=words) as error:
        _take_layout(names, dtypes, shapes, dict(SHAPES))
    assert len(str(error.value)) < 200
    assert "\n" not in str(error.value)


def parts(num_rows=3, image_processor=None):
    """Configuration, tokenizer of three tokens, and image processor of a model."""
    config = SimpleNamespace(vocab_size=num_rows)
    config.get_text_config = lambda: config
    tokenizer = SimpleNamespace(pad_token_id=2, eos_token_id=2)
    tokenizer.get_vocab = lambda: {"a": 0, "b": 1, "<end>": 2}
    return config, tokenizer, image_processor


@pytest.fixture
def started(monkeypatch, cache):
    """Command and key with which the server replaces this process."""
    starts = []
    monkeypatch.setattr(server, "check_installed", lambda *_, **__: None)
    monkeypatch.setattr(server, "installed_version", lambda: "0.30.0")
    monkeypatch.setattr(server, "load_parts", lambda *_, **__: parts())
    monkeypatch.setenv("VLLM_SERVER_DEV_MODE", "0")

    def execv(_, words):
        starts.append((words, server.os.environ[VARIABLE]))

    monkeypatch.setattr(server.os, "execv", execv)
    return starts


def test_the_server_listens_on_this_machine_and_shows_its_key_to_nobody(started, capsys):
    server.main(["--model", "DIR"])
    ((words, key),) = started
    assert words[words.index("--host") + 1] == "127.0.0.1"
    assert "--no-trust-remote-code" in words
    assert words[words.index("--middleware") + 1] == "agents.engines.vllm.access.RequireKey"
    assert server.os.environ["VLLM_SERVER_DEV_MODE"] == "1"
    assert key == api_key()
    assert key not in capsys.readouterr().err + " ".join(words)


def test_a_key_on_the_command_line_is_refused(started):
    with pytest.raises(UsageError, match=f"set {VARIABLE}"):
        server.main(["--model", "DIR", "--", "--api-key", "mine"])
    assert not started


@pytest.mark.parametrize(("cuda", "backend"), [(True, "nccl"), (False, "agents-gloo")])
def test_weights_come_by_nccl_where_there_is_a_gpu(started, monkeypatch, cuda, backend):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    server.main(["--model", "DIR", "--host", "0.0.0.0", "--trust-remote-code"])
    ((words, _),) = started
    assert words[words.index("--host") + 1] == "0.0.0.0"
    assert "--trust-remote-code" in words
    assert json.loads(words[words.index("--weight-transfer-config") + 1]) == {"backend": backend}


@pytest.mark.parametrize("version", ["0.24.0", "0.29.1+cpu", "0.8.5.post1"])
def test_an_old_version_is_told_in_one_line(started, monkeypatch, version):
    monkeypatch.setattr(server, "installed_version", lambda: version)
    with pytest.raises(SamplerError, match=r"is too old for a server, which takes 0.30 or later"):
        server.main(["--model", "DIR"])
    assert not started


@pytest.mark.parametrize("num_rows", [3, 4])
def test_the_server_has_a_logits_processor_where_a_token_is_never_sampled(
    started, monkeypatch, num_rows
):
    monkeypatch.setattr(server, "load_parts", lambda *_, **__: parts(num_rows))
    server.main(["--model", "DIR"])
    ((words, _),) = started
    assert ("--logits-processors" in words) == (num_rows > 3)


def test_the_server_of_a_model_that_reads_images_has_its_options(started, monkeypatch):
    options = {"limit_mm_per_prompt": {"video": 0}, "mm_device_do_normalize": False}
    monkeypatch.setattr(server, "vision_options", lambda: options)
    server.main(["--model", "DIR"])
    monkeypatch.setattr(server, "load_parts", lambda *_, **__: parts(image_processor=object()))
    server.main(["--model", "DIR", "--", "--limit-mm-per-prompt", "{}"])
    (text, _), (vision, _) = started
    assert "--no-mm-device-do-normalize" not in text
    assert "--no-mm-device-do-normalize" in vision
    assert vision[vision.index("--limit-mm-per-prompt") + 1] == '{"video": 0}'
    assert vision[-2:] == ["--limit-mm-per-prompt", "{}"]
