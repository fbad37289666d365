"""Asks any chat API the problems of an environment, and keeps what it answers.

    python -m reasonenv.ask --env AIME25-v0 --url http://localhost:8000/v1 --model M --output r
    python -m reasonenv.score --env AIME25-v0 --responses r

The API is one in OpenAI's form: a server of vLLM, SGLang, llama.cpp or Ollama, or a hosted one. Its
key is read from OPENAI_API_KEY. Responses are written as they come; the same command goes on where
it was stopped, and asks again for what failed.

Status: 0 when every response is there, 1 when some requests failed, 2 when something does not fit
or the file cannot be written, 130 when interrupted.
"""

import argparse
import json
import os
import random
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, as_completed, wait
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any

import gymnasium

import reasonenv
from reasonenv.cli import check_output_path, exit_status, new_parser
from reasonenv.datasets.selection import without_images
from reasonenv.entry_points import evaluation_split
from reasonenv.errors import EndpointError, UsageError
from reasonenv.messages import messages
from reasonenv.progress import shown

Client = Callable[[list[dict[str, Any]], int], str]
"""A response to messages; the integer is the seed of the sample."""
Key = tuple[str, int]
"""Id of a problem, and which of its samples."""
BUSY = (408, 409, 425, 429, 500, 502, 503, 504, 529)
"""Statuses after which the same request may succeed."""
_BEGINNING = b'{"id": '


@dataclass(frozen=True)
class Api:
    """A `Client` for an API in OpenAI's form."""

    url: str
    """Of the API, without the path of a request."""
    key: str = field(repr=False)
    options: dict[str, Any]
    """Of each request: `model`, `max_tokens`, `temperature` ..."""
    timeout: float = 600.0
    """Seconds for one request."""
    tries: int = 5
    """Of a request, waiting twice as long from one to the next."""

    def __call__(self, asked: list[dict[str, Any]], seed: int) -> str:
        """The text of a response. Raises EndpointError, in one line, when all tries fail."""
        fault = ""
        for number in range(self.tries):
            if number:
                time.sleep(min(60.0, 2.0**number) * random.uniform(0.5, 1.0))
            try:
                answer = self._post({**self.options, "messages": asked, "seed": seed})
                return answer["choices"][0]["message"]["content"] or ""
            except urllib.error.HTTPError as error:
                fault = f"{error}: {_said(error)}"
                if error.code not in BUSY:
                    break
            except (OSError, HTTPException) as error:
                fault = str(error) or type(error).__name__
            except (ValueError, LookupError, TypeError) as error:
                fault = f"the answer is none of a chat API ({error})"
                break
        raise EndpointError(" ".join(fault.split()))

    def _post(self, body: dict[str, Any]) -> dict[str, Any]:
        url = self.url.rstrip("/") + "/chat/completions"
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        # Wherever the API sends us on to, the key goes to nobody else.
        request.add_unredirected_header("Authorization", f"Bearer {self.key}")
        with urllib.request.urlopen(request, timeout=self.timeout) as response:
            return json.load(response)


def _said(error: urllib.error.HTTPError) -> str:
    """The words of a refusal, as far as they arrive."""
    with suppress(OSError, HTTPException):
        return error.read(500).decode(errors="replace")
    return ""


def answers(
    env: gymnasium.Env, wanted: Sequence[tuple[int, int]], client: Client, concurrency: int = 16
) -> Iterator[Future[dict[str, Any]]]:
    """Responses to problems, asked for side by side, each as a line of `reasonenv.score`.

    They come as they end: none waits for another one that takes long.

    Args:
        env: Poses the problems, one at a time.
        wanted: Index of a problem, and which of its samples, which is also its seed.
        client: Answers; called from several threads.
        concurrency: Requests under way at a time.
    """

    def answer(told: dict[str, Any], asked: list[dict[str, Any]]) -> dict[str, Any]:
        return {**told, "response": client(asked, told["sample"])}

    threads = ThreadPoolExecutor(concurrency)
    waiting: set[Future[dict[str, Any]]] = set()
    try:
        for index, sample in wanted:
            observation, infos = env.reset(options={"indices": [index]})
            told = {"id": infos["problem_id"], "sample": sample}
            waiting.add(threads.submit(answer, told, messages(observation)))
            if len(waiting) > 2 * concurrency:
                ended, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from ended
        yield from as_completed(waiting)
    finally:
        # What is under way ends by itself: Ctrl-C does not wait for it.
        threads.shutdown(wait=False, cancel_futures=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; its statuses are described above."""
    options = _parser().parse_args(arguments)
    return exit_status(
        lambda: _run(options), f"{options.output} is whole; the same command goes on"
    )


def _run(options: argparse.Namespace) -> int:
    """Asks for what is not there, and writes each response as it comes; gives the status."""
    check_output_path("output", options.output)
    env, path = _env(options), Path(options.output)
    wanted = _wanted(env, options, _there(path))
    asked = answers(env, wanted, _client(options), options.concurrency)
    failed = 0
    with path.open("a", encoding="ascii") as file:
        for _, response in zip(shown(wanted, options.env), asked, strict=True):
            try:
                row = response.result()
            except EndpointError as error:
                failed += 1
                print(f"a request failed: {error}", file=sys.stderr)
                continue
            file.write(json.dumps(row) + "\n")
            file.flush()
    if failed:
        print(f"{failed} of {len(wanted)} requests failed; the same command asks again")
    return 1 if failed else 0


def _env(options: argparse.Namespace) -> gymnasium.Env:
    try:
        given = json.loads(options.env_options)
    except json.JSONDecodeError as error:
        raise UsageError(f"--env-options {options.env_options!r} is no JSON: {error}") from error
    if not isinstance(given, dict):
        raise UsageError(f"--env-options {options.env_options!r} is no JSON object")
    for name in ("num_problems", "samples", "concurrency", "max_tokens", "timeout"):
        if getattr(options, name) < 1:
            flag = name.replace("_", "-")
            raise UsageError(f"--{flag} is {getattr(options, name)}: give at least 1")
    split = options.split or evaluation_split(options.env)
    return reasonenv.make(options.env, **{"split": split, "data": options.data, **given})


def _wanted(env: gymnasium.Env, options: argparse.Namespace, there: set[Key]) -> list[Any]:
    """Which samples of which problems are still to be asked for."""
    problems: Any = env.get_wrapper_attr("problems")
    indices, samples = range(min(len(problems), options.num_problems)), range(options.samples)
    ids = {index: without_images(problems, index).id for index in indices} if there else {}
    every = ((index, sample) for index in indices for sample in samples)
    return [(index, sample) for index, sample in every if (ids.get(index), sample) not in there]


def _there(path: Path) -> set[Key]:
    """The responses that a file holds; a last line that was cut off is removed.

    Raises:
        UsageError: When it is a file of something else, which stays as it is.
    """
    content = path.read_bytes() if path.exists() else b""
    *lines, last = content.split(b"\n")
    try:
        rows = [json.loads(line) for line in lines]
        there = {(row["id"], row["sample"]) for row in rows}
        if not _is_ours(last):
            raise ValueError(f"it ends with {last[-20:]!r}")
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"--output {path} holds something else: give another file") from error
    if last:
        os.truncate(path, len(content) - len(last))
    return there


def _is_ours(cut: bytes) -> bool:
    """Whether a line that does not end may be the beginning of one that was written here."""
    try:
        return "sample" in json.loads(cut)
    except (ValueError, TypeError):
        return cut.startswith(_BEGINNING[: len(cut)])


def _client(options: argparse.Namespace) -> Api:
    if not options.url.startswith(("http://", "https://")):
        raise UsageError(f"--url {options.url}: give one such as http://localhost:8000/v1")
    sent = {
        "model": options.model,
        "max_tokens": options.max_tokens,
        "temperature": options.temperature,
    }
    key = os.environ.get("OPENAI_API_KEY", "none").strip()
    return Api(options.url, key, sent, options.timeout)


def _parser() -> argparse.ArgumentParser:
    parser = new_parser("ask", __doc__)
    add = parser.add_argument
    add("--env", required=True, help="an environment, such as MathVista-v0")
    add("--url", required=True, help="of the API, such as http://localhost:8000/v1")
    add("--model", required=True, help="as the API calls it")
    add("--output", required=True, metavar="FILE.jsonl", help="where the responses go")
    add("--data", metavar="DIR", help="local files; by default REASONENV_DATA, then the hub")
    add("--split", help="by default the one that scores are reported on")
    add("--env-options", default="{}", help="further arguments of the environment as JSON")
    add("--num-problems", type=int, default=5000, help="the first ones of the split (5000)")
    add("--samples", type=int, default=1, help="responses to each problem (1)")
    add("--temperature", type=float, default=0.0, help="of the responses (0)")
    add("--max-tokens", type=int, default=4096, help="of a response (4096)")
    add("--concurrency", type=int, default=16, help="requests under way at a time (16)")
    add("--timeout", type=float, default=600.0, help="seconds for one request (600)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
