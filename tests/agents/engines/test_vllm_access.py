"""Key of a vLLM server, and bounds on what its routes accept, without vLLM."""

import asyncio
import json
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest
import torch

from agents.engines.vllm import routes, server, weight_transfer
from agents.engines.vllm.access import VARIABLE, api_key, key_file
from agents.engines.vllm.client import VLLMClient
from agents.engines.vllm.route_arguments import check_generate, check_join
from agents.engines.vllm.weight_transfer import WeightTransferGroup, checked
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


def test_the_variable_comes_before_the_file(cache, monkeypatch):
    api_key(create=True)
    monkeypatch.setenv(VARIABLE, "mine")
    assert api_key(create=True) == "mine"


def test_a_file_that_others_can_read_is_no_key(cache):
    api_key(create=True)
    key_file().chmod(0o644)
    with pytest.raises(UsageError, match="not readable by you alone: remove it, or set VLLM_API"):
        api_key()


@pytest.mark.parametrize("key", ["", " ", "a b", "a\nb", "é", "a\x00"])
def test_a_key_that_no_header_can_hold_is_refused(cache, key):
    api_key(create=True)
    key_file().write_bytes(key.encode())
    with pytest.raises(UsageError, match="holds no key"):
        api_key()


@contextmanager
def recording(status: int = 200):
    """The address of a server, and the headers of its requests."""
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            requests.append(self.headers)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(b'{"done": true}\n')

        def log_message(self, *_):
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{served.server_port}", requests
        served.shutdown()


def test_the_trainer_sends_the_key(monkeypatch):
    monkeypatch.setenv(VARIABLE, "mine")
    with recording() as (url, requests):
        list(VLLMClient(url, 1).call("about"))
    assert [headers["Authorization"] for headers in requests] == ["Bearer mine"]


def test_a_wrong_key_is_told_without_naming_it(monkeypatch):
    monkeypatch.setenv(VARIABLE, "secret-of-mine")
    with (
        recording(401) as (url, _),
        pytest.raises(SamplerError, match=f"has another key: set {VARIABLE} to that of") as error,
    ):
        list(VLLMClient(url, 1).call("about"))
    assert "secret-of-mine" not in str(error.value)


async def reached(scope, receive, send):
    await send({"type": "http.response.start", "status": 299, "headers": []})
    await send({"type": "http.response.body", "body": b"reached"})


def answer(path: str, key: str | None = None, *, kind="http", method="POST", body=b"") -> int:
    """Status of a request to the middleware before an application that answers 299."""
    headers = [] if key is None else [(b"authorization", key.encode())]
    scope = {"type": kind, "path": path, "method": method, "headers": headers, "client": ("a", 1)}
    sent = []

    async def receive():
        return {"body": body, "more_body": False}

    async def send(message):
        sent.append(message)

    asyncio.run(routes.TrainerRoutes(reached)(scope, receive, send))
    return sent[0]["status"]


PATHS = ("/agents/about", "/agents/load", "/agents/join", "/agents/generate", "/v1/completions")


@pytest.mark.parametrize("path", [*PATHS, "/pause", "/collective_rpc", "/docs", "/healthy", ""])
@pytest.mark.parametrize(
    "key", [None, "", "Bearer", "Bearer ", "Bearer wrong", "mine", "Bearer min"]
)
def test_no_path_answers_without_the_key(monkeypatch, path, key):
    monkeypatch.setenv(VARIABLE, "mine")
    assert answer(path, key) == 401
    assert answer(path, key, kind="websocket") == 401
    assert answer(path, key, method="OPTIONS") == 401


def test_health_is_open_and_the_key_opens_the_rest(monkeypatch):
    monkeypatch.setenv(VARIABLE, "mine")
    assert answer("/health") == 299
    assert answer("/v1/completions", "Bearer mine") == 299


@pytest.mark.parametrize(
    ("path", "method", "body", "status"),
    [
        ("/agents/other", "POST", b"", 404),
        ("/agents/", "POST", b"", 404),
        ("/agents/load", "GET", b"", 404),
        ("/agents/load", "POST", b"{", 400),
        ("/agents/load", "POST", b"[1]", 400),
        ("/agents/load", "POST", b"5", 400),
        ("/agents/load", "POST", b"\xff", 400),
        ("/agents/load", "POST", b"[" * 100000, 400),
        ("/agents/load", "POST", b"{}" + b" " * 200, 400),
    ],
)
def test_an_odd_request_is_refused(monkeypatch, path, method, body, status):
    monkeypatch.setenv(VARIABLE, "mine")
    monkeypatch.setattr(routes, "MAX_BODY", 150 if body[:2] == b"{}" else 10**6)
    assert answer(path, "Bearer mine", method=method, body=body) == status


JOIN = {"address": "10.0.0.7", "port": 1234, "device": "cpu", "banned": [3, 4], "timeout": 60.0}


@pytest.mark.parametrize("client", ["10.0.0.7", "::ffff:10.0.0.7"])
def test_a_trainer_that_names_its_own_address_joins(client):
    check_join(JOIN, client, 10)


@pytest.mark.parametrize(
    "change",
    [
        *({"address": address} for address in ("10.0.0.8", "node7", "127.0.0.1", "", None, 5)),
        *({"port": port} for port in (0, -1, 65536, "1", 1.5, True, None)),
        *({"device": device} for device in ("meta", "cuda:0", None, [])),
        *({"banned": tokens} for tokens in ([10], [-1], ["a"], [True], 5, "12", None)),
        *({"timeout": time} for time in (0, -1, 1801, 1e30, float("nan"), "1", None)),
        {"worker": "x"},
    ],
    ids=str,
)
def test_a_transfer_group_with_anything_else_is_refused(change):
    with pytest.raises(ValueError, match=r"^[^\n]{1,300}$"):
        check_join(JOIN | change, "10.0.0.7", 10)


GROUP = {"token_ids": [1, 2], "count": 2, "seed": 7}
IMAGE = {"images": [[[2, 2, 3], "AAAA"]], "pixels": {"min_pixels": 4, "max_pixels": 9}}
PARAMS = {"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 8, "stop_token_ids": [1]}


def test_usual_requests_are_accepted():
    groups = [GROUP, GROUP | IMAGE | {"collapsed": [1]}]
    check_generate({"groups": groups, "params": PARAMS}, 10, 16)
    check_generate({"groups": groups, "params": PARAMS | {"stop": ["\nQ:"] * 16}}, 10, 16)


@pytest.mark.parametrize(
    "change",
    [
        *({"count": count} for count in (0, -1, 10**9, "1", None)),
        *({"seed": seed} for seed in (-1, 2**64, 0.5)),
        *({"token_ids": tokens} for tokens in ([10], [-1], "ab", {"a": 1}, [[1]])),
        *({"collapsed": tokens} for tokens in ([10], 5)),
        *({"pixels": pixels} for pixels in ({"min_pixels": 10**12}, {"device": "cuda"}, 5)),
        *(
            {"images": [[shape, ""]]}
            for shape in ([10**9, 1, 3], [2, 2], [2, 2, 4], [-1, -1, 3], 5)
        ),
        {"images": [[[2**20, 2**20, 3], ""]]},
        {"lora": "x"},
    ],
    ids=str,
)
def test_a_group_that_the_model_cannot_hold_is_refused(change):
    with pytest.raises((ValueError, TypeError), match=r"^[^\n]{1,300}$"):
        check_generate({"groups": [GROUP | change], "params": PARAMS}, 10, 16)


@pytest.mark.parametrize(
    "change",
    [
        *({"max_tokens": 17}, {"max_tokens": None}, {"logits_processors": ["x"]}, {"n": 9}),
        *({"stop": stop} for stop in ("a", [""], [1], ["a"] * 17, ["a" * 1000], {"a": 1}, 7)),
    ],
    ids=lambda change: str(change)[:30],
)
def test_a_sampling_parameter_that_no_trainer_sends_is_refused(change):
    with pytest.raises(ValueError, match=r"^[^\n]{1,300}$"):
        check_generate({"groups": [GROUP], "params": PARAMS | change}, 10, 16)


HEADERS = [
    ["float32", [["a", [10**9, 10**9]]]],
    ["float32", [["a", [2**20]]] * 300],
    ["float32", [["a", [-1, -5]], ["b", [-3]]]],
    ["float32", [["a", ["x"]]]],
    ["float32", [["a"]]],
    ["float32", 5],
    ["load", [["a", [1]]]],
    ["nothing", [["a", [1]]]],
    ["float32"],
    {"a": 1},
    [None, None],
    "ab",
]


class Announcing(WeightTransferGroup):
    """A member that receives this header, and that must not wait for the weights after it."""

    def __init__(self, header):
        super().__init__(None, torch.device("cpu"), 1)
        data = torch.tensor(list(json.dumps(header).encode()), dtype=torch.uint8)
        self.messages = [torch.tensor([len(data)]), data]

    def _broadcast(self, tensor):
        tensor.copy_(self.messages.pop(0))


@pytest.mark.parametrize("header", HEADERS, ids=lambda header: str(header)[:30])
def test_a_header_that_fits_no_model_allocates_nothing(header):
    with pytest.raises(ConnectionError, match=r"^the trainer announces [^\n]{1,200}$"):
        next(Announcing(header).receive())


@pytest.mark.parametrize("length", [2**40, -2, 0])
def test_a_header_of_odd_length_allocates_nothing(length):
    group = Announcing([])
    group.messages = [torch.tensor([length])]
    with pytest.raises(ConnectionError, match=f"a header of {length} bytes"):
        next(group.receive())


def test_a_weight_larger_than_a_bucket_arrives_where_the_model_has_one(monkeypatch):
    monkeypatch.setattr(weight_transfer, "BUCKET", 8)
    group = Announcing(["float32", [["a", [4]]]])
    group.messages.append(torch.arange(4.0))
    ((name, weight),) = [next(group.receive(max_bytes=16))]
    assert name == "a"
    assert weight.tolist() == [0, 1, 2, 3]
    with pytest.raises(ConnectionError, match="fits no model"):
        next(Announcing(["float32", [["a", [4]]]]).receive(max_bytes=12))


SHAPES = {"a": (2,), "b": (3, 1)}
A, B = ("a", torch.ones(2)), ("b", torch.ones(3, 1))


def test_the_weights_of_the_model_pass_in_any_order():
    assert list(checked([B, A], SHAPES)) == [B, A]


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([A, ("c", torch.ones(1))], "'c' is no weight of this model"),
        ([A, A], "'a' is no weight of this model, or comes twice"),
        ([("a", torch.ones(3))], r"a has the shape \(3,\) and takes \(2,\)"),
        ([("a" * 999, torch.ones(3))], r"^[^\n]{1,200}$"),
        ([A], "1 weights are missing, b first"),
        ([], "2 weights are missing, a first"),
    ],
)
def test_weights_of_another_model_are_refused(weights, words):
    with pytest.raises(ValueError, match=words):
        list(checked(weights, SHAPES))


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
    monkeypatch.setattr(server, "load_parts", lambda *_, **__: parts())

    def execv(_, words):
        starts.append((words, server.os.environ[VARIABLE]))

    monkeypatch.setattr(server.os, "execv", execv)
    return starts


def test_the_server_listens_on_this_machine_and_shows_its_key_to_nobody(started, capsys):
    server.main(["--model", "DIR"])
    ((words, key),) = started
    assert words[words.index("--host") + 1] == "127.0.0.1"
    assert "--no-trust-remote-code" in words
    assert key == api_key()
    assert key not in capsys.readouterr().err + " ".join(words)


def test_the_servers_host_and_trust_are_options(started):
    server.main(["--model", "DIR", "--host", "0.0.0.0", "--trust-remote-code"])
    ((words, _),) = started
    assert words[words.index("--host") + 1] == "0.0.0.0"
    assert "--trust-remote-code" in words


def test_a_key_on_the_command_line_is_refused(started):
    with pytest.raises(UsageError, match=f"set {VARIABLE}"):
        server.main(["--model", "DIR", "--", "--api-key", "mine"])
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
