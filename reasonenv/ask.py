"""Responses of a chat API to the problems of an environment, written to a file.

    python -m reasonenv.ask --env AIME25-v0 --url http://localhost:8000/v1 --model M --output r
    python -m reasonenv.score --env AIME25-v0 --responses r

The API is one of OpenAI's form: a server of vLLM, SGLang, llama.cpp or Ollama, or a hosted one. Its
key is read from OPENAI_API_KEY. Responses are written as they arrive; the same command resumes
after an interruption, and repeats failed requests.

Status: 0 when the file has every response, 1 when requests failed, 2 for wrong arguments or a file
that cannot be written, 130 when interrupted.
"""

import argparse
import asyncio
import fcntl
import functools
import json
import os
import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, as_completed, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import gymnasium
import httpx2

import reasonenv
from reasonenv import messages as chat
from reasonenv.console import (
    add_data_flags,
    check_output_path,
    env_options,
    exit_status,
    new_parser,
    print_line,
    printable,
    standard_streams,
    track,
)
from reasonenv.datasets.selection import distinct_ids
from reasonenv.errors import EndpointError, UsageError
from reasonenv.files import named_errors
from reasonenv.registration import find

Client = Callable[[list[dict[str, Any]], int], str]
"""Function of messages and the seed of a sample to a response."""
Key = tuple[str, int]
"""Id of a problem, and number of its sample."""
_BEGINNING = b'{"id": '
_LONGEST_FAULT = 600
_LONGEST_REFUSAL = 12_000
_NO_KEY = "none"
LIMIT = 2**24
"""Largest answer in bytes."""
BUSY = (408, 409, 425, 429, 500, 502, 503, 504, 529)
"""Statuses after which a request is repeated."""
LONGEST_TIMEOUT = 1_000_000
"""Seconds of a response at most; from about the double, sockets have no such number."""
_trusted = functools.cache(httpx2.create_ssl_context)


@dataclass(frozen=True)
class Api:
    """A `Client` for an API in OpenAI's form."""

    url: str
    """Base URL of the API."""
    key: str = field(repr=False)
    options: dict[str, Any]
    """Options of each request: `model`, `max_tokens`, `temperature` ..."""
    timeout: float = 600.0
    """Seconds for a response, repeated requests included."""
    tries: int = 5
    """Attempts of a request, with exponential backoff."""

    def __call__(self, messages: list[dict[str, Any]], seed: int) -> str:
        """The text of a response. Raises EndpointError, in one line, when all attempts fail."""
        body = {**self.options, "messages": messages, "seed": seed}
        end, fault = time.monotonic() + self.timeout, ""
        for number in range(1, self.tries + 1):
            may_pass = False
            try:
                content = asyncio.run(self._answer(body, end - time.monotonic()))
                return self._without_key(_text(content))
            except TimeoutError:
                fault = f"no complete answer within {self.timeout:g} s"
            except httpx2.HTTPStatusError as error:
                fault, may_pass = str(error), error.response.status_code in BUSY
            except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
                fault, may_pass = str(error) or type(error).__name__, True
            except (ValueError, LookupError, TypeError, RecursionError) as error:
                fault = f"the reply is not that of a chat API ({error})"
            pause = min(60.0, 2.0**number) * random.uniform(0.5, 1.0)
            if not may_pass or number == self.tries or time.monotonic() + pause > end:
                break
            time.sleep(pause)
        line = printable(" ".join(fault.split()))
        raise EndpointError(self._without_key(line, shortest=1)[:_LONGEST_FAULT])

    async def _answer(self, body: Any, seconds: float) -> bytes:
        """What the server answers to JSON in this time; no redirect is followed."""
        url, content = self.url.rstrip("/") + "/chat/completions", b""
        # A bomb of compressed text would be larger than it seems.
        headers = {"Authorization": f"Bearer {self.key}", "Accept-Encoding": "identity"}
        # The timeouts of a client are those of a single read, which a byte a second satisfies.
        async with (
            asyncio.timeout(seconds),
            httpx2.AsyncClient(timeout=None, verify=_trusted()) as client,
            client.stream("POST", url, json=body, headers=headers) as response,
        ):
            most = LIMIT if response.is_success else _LONGEST_REFUSAL * response.is_error
            async for part in response.aiter_raw():
                content += part
                if len(content) > most:
                    break
        if response.is_success:
            return content
        text = content.decode(errors="replace")
        # No half of a key, each of whose characters may be an escape.
        text = text if len(content) < _LONGEST_REFUSAL else text[: -7 * len(self.key)]
        fault = f"HTTP {response.status_code} {response.reason_phrase}: {text}"
        raise httpx2.HTTPStatusError(fault, request=response.request, response=response)

    def _without_key(self, text: str, shortest: int = 6) -> str:
        """The text without the key, which a server may echo; in responses, no short placeholder."""
        if self.key == _NO_KEY or len(self.key) < shortest:
            return text
        # Each character as it is, behind backslashes, or as an escape of JSON or of a URL.
        forms = (rf"(?:\\*{re.escape(c)}|\\+u00{ord(c):02x}|%{ord(c):02x})" for c in self.key)
        return re.sub("".join(forms), "***", text, flags=re.IGNORECASE)


def _text(content: bytes) -> str:
    """The text of a reply in OpenAI's form; empty where it is null."""
    if len(content) > LIMIT:
        raise ValueError(f"it is larger than {LIMIT:,} bytes")
    text = json.loads(content)["choices"][0]["message"]["content"]
    if not isinstance(text, str | None):
        raise TypeError(f"its content is a {type(text).__name__}")
    return text or ""


def answers(
    env: gymnasium.Env, samples: Sequence[tuple[int, int]], client: Client, concurrency: int = 16
) -> Iterator[Future[dict[str, Any]]]:
    """Concurrent responses to problems, each a row of `reasonenv.score`, in order of completion.

    Where the environment has tools, the response is the last one of an episode, and `turns` of the
    row has the calls before it, each with the words of its reply.

    Args:
        env: The environment of the problems.
        samples: Index of a problem, and number of its sample, which is also its seed.
        client: Called from several threads.
        concurrency: Number of concurrent requests.
    """
    toolbox, problems = map(env.get_wrapper_attr, ("tools", "problems"))

    def answer(row: dict[str, Any], index: int, messages: list[dict[str, Any]]) -> dict[str, Any]:
        if toolbox is None:
            return {**row, "response": client(messages, row["sample"])}
        problem, turns = problems[index], []
        while True:
            response = client(messages, row["sample"])
            turn = toolbox.turn(problem, response, len(turns))
            if turn.reply is None:
                return {**row, "response": turn.graded(response), "turns": turns}
            turns.append([response, turn.reply.words])
            messages = chat.grow(messages, response, turn.reply.observation)

    threads = ThreadPoolExecutor(concurrency)
    pending: set[Future[dict[str, Any]]] = set()
    try:
        for index, sample in samples:
            observation, infos = env.reset(options={"indices": [index]})
            row = {"id": infos["problem_id"], "sample": sample}
            pending.add(threads.submit(answer, row, index, chat.messages(observation)))
            if len(pending) > 2 * concurrency:
                complete, pending = wait(pending, return_when=FIRST_COMPLETED)
                yield from complete
        yield from as_completed(pending)
    finally:
        # Ctrl-C does not wait for open requests.
        threads.shutdown(wait=False, cancel_futures=True)


@standard_streams()
def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; its statuses are described above."""
    options = _parser().parse_args(arguments)
    return exit_status(
        lambda: _run(options), f"{options.output} is valid; the same command resumes"
    )


def _run(options: argparse.Namespace) -> int:
    """Requests the missing responses, and writes each as it arrives; returns the status."""
    check_output_path("output", options.output, options.data)
    env, client, path = _env(options), _client(options), Path(options.output)
    num_failures = 0
    with path.open("a", encoding="ascii") as file, named_errors(path):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            line = "is in use by another process: wait for its end, or give another"
            raise UsageError(f"--output {path} {line}") from None
        samples = _missing_samples(env, options, _existing_samples(path))
        responses = answers(env, samples, client, options.concurrency)
        for _, response in zip(track(samples, options.env), responses, strict=True):
            try:
                row = response.result()
            except EndpointError as error:
                num_failures += 1
                print_line(f"a request failed: {error}", sys.stderr)
                continue
            file.write(json.dumps(row) + "\n")
            file.flush()
    if num_failures:
        total = len(samples)
        print_line(f"{num_failures} of {total} requests failed; the same command repeats them")
    return 1 if num_failures else 0


def _env(options: argparse.Namespace) -> gymnasium.Env:
    arguments = {"data": options.data, **env_options(options.env_options)}
    for name in ("num_problems", "samples", "concurrency", "max_tokens", "timeout"):
        if getattr(options, name) < 1:
            flag = name.replace("_", "-")
            raise UsageError(f"--{flag} is {getattr(options, name)}: give at least 1")
    if not options.timeout <= LONGEST_TIMEOUT:
        raise UsageError(f"--timeout is {options.timeout}: give at most {LONGEST_TIMEOUT:,}")
    if not 0 <= options.temperature < float("inf"):
        raise UsageError(f"--temperature is {options.temperature}: give 0 or more, a finite number")
    split = options.split or find(options.env).evaluation_split(arguments)
    env = reasonenv.make(options.env, **{"split": split, **arguments})
    if not options.split and (note := find(options.env).training_note(split)):
        print_line(note, sys.stderr)
    return env


def _missing_samples(
    env: gymnasium.Env, options: argparse.Namespace, existing: set[Key]
) -> list[Any]:
    problems: Any = env.get_wrapper_attr("problems")
    ids = distinct_ids(problems, min(len(problems), options.num_problems))
    every = ((index, sample) for index in range(len(ids)) for sample in range(options.samples))
    return [(index, sample) for index, sample in every if (ids[index], sample) not in existing]


def _existing_samples(path: Path) -> set[Key]:
    """The responses of a file; an incomplete last line is removed.

    Raises:
        UsageError: When it is a file of other content, which stays as it is.
    """
    content = path.read_bytes() if path.exists() else b""
    *lines, last = content.split(b"\n")
    try:
        rows = [json.loads(line) for line in lines]
        keys = {(row["id"], row["sample"]) for row in rows}
        if not _is_response_prefix(last):
            raise ValueError(f"it ends with {last[-20:]!r}")
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"--output {path} holds something else: give another file") from error
    if last:
        os.truncate(path, len(content) - len(last))
    return keys


def _is_response_prefix(line: bytes) -> bool:
    """True if an incomplete line may be the beginning of a response."""
    try:
        return "sample" in json.loads(line)
    except (ValueError, TypeError):
        return line.startswith(_BEGINNING[: len(line)])


def _client(options: argparse.Namespace) -> Api:
    try:
        parts = urlsplit(options.url)
        is_address = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise UsageError(f"--url {options.url}: give one such as http://localhost:8000/v1")
    if "@" in urlsplit(options.url).netloc:
        raise UsageError("--url holds a name or a password: give the key as OPENAI_API_KEY")
    if not options.model.strip():
        raise UsageError("--model is empty: give the name of the model in the API")
    key = os.environ.get("OPENAI_API_KEY", _NO_KEY).strip()
    if not key.isascii() or not key.isprintable():
        raise UsageError("OPENAI_API_KEY holds characters that no key has: copy it again")
    request = {name: getattr(options, name) for name in ("model", "max_tokens", "temperature")}
    return Api(options.url, key, request, options.timeout)


def _parser() -> argparse.ArgumentParser:
    parser = new_parser("ask", __doc__)
    add = parser.add_argument
    add("--env", required=True, help="an environment, such as MathVista-v0")
    add("--url", required=True, help="URL of the API, such as http://localhost:8000/v1")
    add("--model", required=True, help="name of the model in the API")
    add("--output", required=True, metavar="FILE.jsonl", help="file to append the responses to")
    add_data_flags(parser)
    add("--split", help="split; default the one that scores are reported on")
    add("--num-problems", type=int, default=5000, help="first problems of the split (5000)")
    add("--samples", type=int, default=1, help="responses to each problem (1)")
    add("--temperature", type=float, default=0.0, help="sampling temperature (0)")
    add("--max-tokens", type=int, default=4096, help="limit of a response (4096)")
    add("--concurrency", type=int, default=16, help="concurrent requests (16)")
    about = "seconds for a response, retries included (600)"
    add("--timeout", type=float, default=600.0, help=about)
    return parser


if __name__ == "__main__":
    sys.exit(main())
