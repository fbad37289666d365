import base64
import contextlib
import fcntl
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from PIL import Image

import reasonenv
from reasonenv import ask
from reasonenv.messages import messages
from reasonenv.scoring import score


class Api(ThreadingHTTPServer):
    """A chat API on this machine that writes down what it is asked, and answers 7 to everything."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked, self.faults = [], []
        self.says, self.elsewhere = "\\boxed{7}", ""
        self.turns = None  # how many answers there are, where they are counted
        self.url = f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        server: Api = self.server  # type: ignore[assignment]
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server.asked.append((self.path, self.headers["Authorization"], body))
        if server.turns:
            server.turns.acquire()
        status = server.faults.pop() if server.faults else 200
        message = {"role": "assistant", "content": f"{server.says} of seed {body['seed']}"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        answer = {"choices": [choice], "created": 0, "id": "a", "model": "m", "usage": {}}
        content = json.dumps(answer if status == 200 else {"error": "no"}).encode()
        self.send_response(status)
        if status == 302:
            self.send_header("Location", server.elsewhere)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        with contextlib.suppress(BrokenPipeError):
            self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture
def api():
    with Api() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def rows(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    kind = {"solution": "", "subject": "Algebra", "level": 1}
    problems = [
        {"problem": f"What is {k}?", "answer": str(k), "unique_id": str(k), **kind}
        for k in range(5, 10)
    ]
    (folder / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in problems))
    return folder


def words(api, path, **options):
    told = {"env": "Figures-v2", "url": api.url, "model": "m", "output": path} | options
    return [word for name, value in told.items() for word in (f"--{name}", str(value))]


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_each_sample_of_each_problem_is_asked_for_once_and_kept(api, tmp_path):
    path = tmp_path / "r.jsonl"
    options = {"num-problems": 3, "samples": 2, "max-tokens": 9, "temperature": 0.5}
    assert ask.main(words(api, path, **options)) == 0
    kept = sorted(lines(path), key=lambda row: (row["id"], row["sample"]))
    ids = [
        problem.id for problem in reasonenv.make("Figures-v2", split="test").unwrapped.problems[:3]
    ]
    assert [(row["id"], row["sample"]) for row in kept] == [(i, s) for i in ids for s in (0, 1)]
    assert all(row["response"] == f"\\boxed{{7}} of seed {row['sample']}" for row in kept)
    path, key, body = api.asked[0]
    assert path == "/v1/chat/completions"
    assert key == "Bearer none"
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("m", 9, 0.5)


def test_images_arrive_as_they_are(api, tmp_path):
    ask.main(words(api, tmp_path / "r.jsonl", **{"num-problems": 1}))
    env = reasonenv.make("Figures-v2", split="test")
    observation, _ = env.reset(options={"indices": [0]})
    (user,) = api.asked[0][2]["messages"]
    image, text = user["content"]
    assert text == {"type": "text", "text": observation["question"]}
    assert np.array_equal(pixels(image), observation["images"][0])


def pixels(part):
    sent = base64.b64decode(part["image_url"]["url"].removeprefix("data:image/png;base64,"))
    return np.asarray(Image.open(io.BytesIO(sent)))


def test_images_stand_where_the_question_marks_them():
    images = tuple(np.full((2, 2, 3), k, np.uint8) for k in range(3))
    (user,) = messages({"system": "", "question": "a<image 2>b<image 1>", "images": images})
    assert [part.get("text") or pixels(part).max() for part in user["content"]] == [
        2,
        "a",
        1,
        "b",
        0,
    ]


def test_a_busy_api_is_asked_again_and_a_refusal_is_not(api, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(ask.time, "sleep", lambda _: None)
    path = tmp_path / "r.jsonl"
    api.faults = [503, 429]
    assert ask.main(words(api, path, **{"num-problems": 1})) == 0
    assert len(api.asked) == 3
    api.faults = [400]
    assert ask.main(words(api, path, **{"num-problems": 2})) == 1
    assert len(api.asked) == 4
    assert "a request failed: " in capsys.readouterr().err
    assert ask.main(words(api, path, **{"num-problems": 2})) == 0
    assert len(lines(path)) == 2


def test_an_interrupted_run_says_so_at_once_and_goes_on(api, tmp_path):
    path = tmp_path / "r.jsonl"
    api.turns = threading.Semaphore(3)
    typed = words(api, path, **{"num-problems": 12, "concurrency": 2})
    command = [sys.executable, "-m", "reasonenv.ask", *typed]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    limit = time.monotonic() + 60
    while not path.exists() or len(path.read_text().splitlines()) < 3:
        assert process.poll() is None
        assert time.monotonic() < limit
        time.sleep(0.02)
    answered = threading.Timer(30, api.turns.release, [100])  # were it to wait, it would not end
    answered.start()
    os.kill(process.pid, signal.SIGINT)
    assert "interrupted" in process.stderr.readline()
    assert answered.is_alive()
    answered.cancel()
    api.turns.release(100)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert len(lines(path)) == 3
    before = len(api.asked)
    assert ask.main(typed) == 0
    assert len(lines(path)) == 12
    assert len(api.asked) - before == 9


def test_a_response_that_takes_long_keeps_no_other_from_being_written():
    env, ended = reasonenv.make("Figures-v2", split="test"), threading.Event()

    def client(messages, seed):
        return str(seed or ended.wait(10))

    asked = ask.answers(env, [(0, sample) for sample in range(8)], client, concurrency=2)
    first = [next(asked).result()["response"] for _ in range(7)]
    ended.set()
    assert sorted(first) == list("1234567")
    assert [rest.result()["response"] for rest in asked] == ["True"]


STOPPED = """
import resource, signal, sys
from reasonenv import ask
signal.signal(signal.SIGXFSZ, getattr(signal, sys.argv[1]))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
sys.exit(ask.main(sys.argv[2:]))
"""


def test_an_episode_with_tools_is_a_conversation_and_its_last_response_is_kept():
    env = reasonenv.make("Zoom-v0", split="test")
    problems, toolbox = map(env.get_wrapper_attr, ("problems", "tools"))
    plans = {index: toolbox.responses(problems[index].solution) for index in range(3)}
    heard = []

    def client(messages, seed):
        heard.append(messages)
        return [*plans[seed], "zoom(1, 1, 2, 2)", "zoom(1, 1, 2, 2)"][len(messages) // 2]

    plans[2] = ["zoom(0, 0, 9, 9)"]
    asked = ask.answers(env, [(index, index) for index in range(3)], client, concurrency=1)
    rows = {row["sample"]: row for row in (future.result() for future in asked)}
    env.close()
    assert rows[0]["response"] == problems[0].answer
    assert rows[1]["turns"] == [[plans[1][0], ""]]
    assert rows[2]["response"] == ""
    assert [words for _, words in rows[2]["turns"]] == ["", "No calls are left: answer."]
    roles = [message["role"] for message in heard[1]]
    assert roles == ["user", "assistant", "user"]
    assert [part["type"] for part in heard[1][-1]["content"]] == ["image_url"]


# At a file's largest size a write is cut short; the next is an error, or kills the process.
@pytest.mark.parametrize(
    ("signalled", "status"), [("SIG_IGN", 2), ("SIG_DFL", -signal.SIGXFSZ)], ids=["full", "killed"]
)
def test_a_line_that_the_disk_or_a_kill_cut_off_is_asked_for_again(
    api, tmp_path, signalled, status
):
    path = tmp_path / "r.jsonl"
    typed = words(api, path, **{"num-problems": 6, "concurrency": 1})
    command = [sys.executable, "-B", "-c", STOPPED, signalled, *typed]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == status, done.stderr
    assert done.stderr == ("error: [Errno 27] File too large\n" if status == 2 else "")
    left = path.read_bytes()
    whole = left[: left.rfind(b"\n") + 1]
    assert 0 < len(whole) < len(left) == 200
    assert ask.main(typed) == 0
    assert path.read_bytes().startswith(whole)
    assert len({row["id"] for row in lines(path)}) == len(lines(path)) == 6


@pytest.mark.parametrize("length", [1, 6, 7, 20, -1, None])
def test_a_line_may_be_cut_off_anywhere(api, tmp_path, length):
    path = tmp_path / "r.jsonl"
    ask.main(words(api, path, **{"num-problems": 1}))
    whole = path.read_bytes()
    path.write_bytes(whole + whole.replace(b"\n", b"")[:length])
    assert ask.main(words(api, path, **{"num-problems": 1})) == 0
    assert path.read_bytes() == whole


def test_more_samples_are_asked_for_beside_those_that_are_there(api, tmp_path):
    path = tmp_path / "r.jsonl"
    for samples in (1, 3):
        ask.main(words(api, path, **{"num-problems": 2, "samples": samples}))
    assert sorted(body["seed"] for _, _, body in api.asked) == [0, 0, 1, 1, 2, 2]
    assert len({(row["id"], row["sample"]) for row in lines(path)}) == len(lines(path)) == 6


def test_half_a_character_is_kept_as_it_came(api, tmp_path):
    path = tmp_path / "r.jsonl"
    api.says = "\ud83d 数"
    for _ in range(2):
        assert ask.main(words(api, path, **{"num-problems": 1})) == 0
    assert [row["response"] for row in lines(path)] == ["\ud83d 数 of seed 0"]


@pytest.mark.parametrize("faults", [[], [302]])
def test_the_key_of_the_environment_goes_to_nobody_else(api, tmp_path, monkeypatch, faults):
    monkeypatch.setenv("OPENAI_API_KEY", "secret\n")
    path = tmp_path / "r.jsonl"
    api.faults, api.elsewhere = [*faults], f"{api.url}/elsewhere"
    assert ask.main(words(api, path, **{"num-problems": 1})) == len(faults)
    assert [(place, key) for place, key, _ in api.asked] == [
        ("/v1/chat/completions", "Bearer secret")
    ]
    assert "secret" not in path.read_text()


def test_what_is_kept_is_scored(api, tmp_path, rows):
    path = tmp_path / "r.jsonl"
    told = {"env": "MATH500-v0", "data": rows}
    assert ask.main(words(api, path, **told)) == 0
    assert score("MATH500-v0", lines(path), str(rows))["accuracy"] == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"env": "Figurs-v1"}, "did you mean Figures-v2?"),
        ({"env-options": "{"}, "is no JSON"),
        ({"env-options": "[1]"}, "is no JSON object"),
        ({"samples": 0}, "give at least 1"),
        ({"num-problems": 0}, "--num-problems is 0: give at least 1"),
        ({"output": "/nowhere/r.jsonl"}, "no such parent folder"),
        ({"url": "file:///etc/passwd"}, "give one such as"),
        ({"url": "http://[::1"}, "--url http://[::1: give one such as"),
        ({"url": "http://localhost:99999"}, "give one such as"),
        ({"url": "http://:80"}, "give one such as"),
        ({"timeout": 1e300}, "--timeout is 1e+300: give at most 1,000,000"),
        *(({"temperature": t}, f"--temperature is {t}: give 0 or") for t in ("nan", "inf", "-1.0")),
        ({"timeout": "nan"}, "--timeout is nan: give at most 1,000,000"),
        ({"model": " "}, "--model is empty: give the name of the model"),
        ({"env-options": '{"level": 1, "level": 2}'}, "the key 'level' comes 2 times"),
    ],
)
def test_what_does_not_fit_is_one_line(api, tmp_path, capsys, options, expected):
    assert ask.main(words(api, tmp_path / "r.jsonl", **options)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert expected in line
    assert not api.asked


def test_two_commands_do_not_pay_for_the_same_responses(api, tmp_path, capsys):
    path = tmp_path / "r.jsonl"
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert ask.main(words(api, path)) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.endswith(
            f"--output {path} is in use by another process: wait for its end, or give another"
        )
    assert not api.asked
    assert ask.main(words(api, path, **{"num-problems": 1})) == 0


RESPONSE = json.dumps({"id": "1", "response": "of another program"})


@pytest.mark.parametrize("content", ["mine\n", "mine", RESPONSE, RESPONSE + "\n", "7"])
def test_a_file_of_something_else_is_left_alone(api, tmp_path, capsys, content):
    path = tmp_path / "notes.txt"
    path.write_text(content)
    assert ask.main(words(api, path, **{"num-problems": 1})) == 2
    assert path.read_text() == content
    assert "holds something else" in capsys.readouterr().err


def test_an_api_that_is_not_there_fails_and_loses_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(ask.time, "sleep", lambda _: None)
    with Api() as gone:
        pass
    assert ask.main(words(gone, tmp_path / "r.jsonl", **{"num-problems": 2})) == 1
    assert (tmp_path / "r.jsonl").read_text() == ""
    assert capsys.readouterr().err.count("a request failed") == 2


def test_what_was_held_out_is_asked_for_and_training_problems_are_named(api, tmp_path, capsys):
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(f'{{"question": "{k}?", "answer": {k}}}\n' for k in range(20)))
    options = {"env": "file", "data": path}
    held = reasonenv.make("file", data=str(path), split="heldout", holdout=0.3).unwrapped.problems
    some = tmp_path / "some.jsonl"
    assert ask.main(words(api, some, **options, **{"env-options": '{"holdout": 0.3}'})) == 0
    assert {row["id"] for row in lines(some)} == {problem.id for problem in held}
    assert "training problems" not in capsys.readouterr().err
    assert ask.main(words(api, tmp_path / "all.jsonl", **options)) == 0
    assert "file: these are the training problems" in capsys.readouterr().err


def test_every_problem_of_a_mixture_is_asked_for(api, tmp_path, rows):
    content = (rows / "test.jsonl").read_text().replace("unique_id", "id")
    for name in ("math500", "aime25"):
        (rows / name).mkdir()
        (rows / name / "test.jsonl").write_text(
            content.replace('"id"', '"unique_id"' if name == "math500" else '"id"')
        )
    options = {"env": "Mixture-v0", "data": rows}
    options["env-options"] = '{"envs": ["MATH500-v0", "AIME25-v0"]}'
    path = tmp_path / "r.jsonl"
    for _ in range(2):
        assert ask.main(words(api, path, **options)) == 0
    assert len({row["id"] for row in lines(path)}) == len(lines(path)) == 10
