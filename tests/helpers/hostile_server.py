"""A chat API on this machine whose answers are hostile, byte by byte."""

import contextlib
import gzip
import itertools
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
Send = Callable[[bytes], None]
Behaviour = Callable[[Send], None]
MEBIBYTE = b" " * 2**20


def chat(content: object) -> bytes:
    """A right answer."""
    return json.dumps(
        {"choices": [{"message": {"role": "assistant", "content": content}}]}
    ).encode()


def answer(body: bytes, head: bytes = OK) -> bytes:
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


def refusal(text: bytes, status: bytes = b"400 Bad Request") -> bytes:
    return answer(text, b"HTTP/1.1 " + status + b"\r\n")


def dripping(head: bytes, text: bytes = b"") -> Behaviour:
    """Sends a head, then a byte of the text now and then, again and again; without one, nothing."""

    def behave(send: Send) -> None:
        send(head)
        for byte in itertools.cycle(text):
            send(bytes([byte]))
            time.sleep(0.05)
        time.sleep(60)

    return behave


def flooding(head: bytes, piece: bytes = MEBIBYTE) -> Behaviour:
    """Sends a head, then the same piece without an end."""

    def behave(send: Send) -> None:
        send(head)
        while True:
            send(piece)

    return behave


def once(text: bytes) -> Behaviour:
    return lambda send: send(text)


def redirect(place: bytes, length: bytes = b"Content-Length: 0\r\n") -> bytes:
    return b"HTTP/1.1 302 Found\r\nLocation: " + place + b"\r\n" + length + b"\r\n"


STATUS = b"HTTP/1.1 200 OK\r\n"
LENGTH = OK + b"Content-Length: 10000000000\r\n\r\n"
CHUNK = b"100000\r\n" + MEBIBYTE + b"\r\n"

SLOW = {
    "silence": dripping(b""),
    "a slow status line": dripping(b"", b"H"),
    "a slow header": dripping(STATUS + b"X: ", b"x"),
    "slow headers": dripping(STATUS, b"X: y\r\n"),
    "a slow body of known length": dripping(LENGTH, b" "),
    "a slow body without length": dripping(OK + b"\r\n", b" "),
    "slow chunks": dripping(CHUNKED, b"1\r\n \r\n"),
    "a slow size of a chunk": dripping(CHUNKED, b"0"),
    "slow trailers": dripping(CHUNKED + b"1\r\n \r\n0\r\n", b"X: y\r\n"),
    "a slow refusal": dripping(refusal(b"")[:-19], b" "),
    "a body that stops": dripping(LENGTH + b"{"),
    "continuing for ever": dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
}
"""Answers that never end, a little at a time."""

LARGE = {
    "ten gigabytes": flooding(LENGTH),
    "ten gigabytes of one text": flooding(LENGTH + chat("")[:-5], b"x" * 2**20),
    "a body without an end": flooding(OK + b"\r\n"),
    "chunks without an end": flooding(CHUNKED, CHUNK),
    "one chunk without an end": flooding(CHUNKED + b"FFFFFFFFFFFF\r\n"),
}
"""Answers that are too large."""

BOMB = answer(gzip.compress(MEBIBYTE * 100), OK + b"Content-Encoding: gzip\r\n")
BROKEN = {
    "a long header": flooding(STATUS + b"X: ", b"x" * 2**16),
    "headers without an end": flooding(STATUS, b"X: y\r\n"),
    "a refusal without an end": flooding(b"HTTP/1.1 400 No\r\n\r\n"),
    "a redirect with ten gigabytes": flooding(redirect(b"/other", b"")),
    "a slow redirect": dripping(redirect(b"/other", b""), b" "),
    "a redirect to itself": once(redirect(b"/v1/chat/completions")),
    "a redirect to a file": once(redirect(b"file:///etc/passwd")),
    "a redirect to FTP": once(redirect(b"ftp://127.0.0.1:1/x")),
    "a redirect to nowhere": once(redirect(b"http://[::1")),
    "no HTTP": once(b"\x00\x01\x02\xff" * 99),
    "a negative length": once(OK + b"Content-Length: -1\r\n\r\n"),
    "a chunk of negative size": once(CHUNKED + b"-5\r\n"),
    "a page of HTML": once(answer(b"<html>", OK.replace(b"json", b"html"))),
    "a bomb of gzip": once(BOMB),
    "deep JSON": once(answer(b"[" * 10**6)),
    "deep objects": once(answer(b'{"choices":' * 10**5)),
    "a long number": once(answer(b"1" * 5000)),
    "a number as text": once(answer(chat(7))),
    "parts as text": once(answer(chat([{"type": "text"}]))),
    "no choice": once(answer(b'{"choices": []}')),
    "no object": once(answer(b"null")),
    "half a letter": once(answer(b'{"choices": "\xff\xfe')),
}
"""Answers that are none, in one line at once."""


def escaped(key: bytes) -> bytes:
    """The characters of a key as escapes of JSON."""
    return b'{"error": "' + b"".join(b"\\u%04X" % each for each in key) + b'"}'


ECHOES: dict[str, Callable[[bytes], bytes]] = {
    "in the text of a refusal": lambda key: refusal(b"bad key: " + key),
    "in the text of a refusal, often": lambda key: refusal(key * 1000),
    "in a status line": lambda key: refusal(b"", b"401 " + key),
    "as a status line": lambda key: b"Authorization: Bearer " + key + b"\r\n\r\n",
    "in a redirect": lambda key: redirect(b"gopher://" + key),
    "in a length": lambda key: CHUNKED + key + b"\r\n",
    "as JSON": lambda key: refusal(json.dumps({"key": key.decode()}).encode()),
    "in escapes of JSON": lambda key: refusal(escaped(key)),
    "in escapes of escapes": lambda key: refusal(json.dumps(escaped(key).decode()).encode()),
    "in escapes, cut off": lambda key: refusal(escaped(key) * 1000),
    "as part of a URL": lambda key: refusal("".join(f"%{c:02X}" for c in key).encode()),
    "in a response": lambda key: answer(chat(f"is it {key.decode()}?")),
}
"""Answers with the key of the request."""


@contextlib.contextmanager
def hostile_server(behave: Behaviour) -> Iterator[str]:
    """The URL of a server that answers every request by `behave(send)`."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_serve, args=(server, behave), daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        # A thread that waits in `accept` would keep the port.
        server.shutdown(socket.SHUT_RDWR)


def _serve(server: socket.socket, behave: Behaviour) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection, _ = server.accept()
            threading.Thread(target=_answer, args=(connection, behave), daemon=True).start()


def _answer(connection: socket.socket, behave: Behaviour) -> None:
    with connection, contextlib.suppress(OSError):
        _receive_request(connection)
        behave(connection.sendall)


def _receive_request(connection: socket.socket) -> None:
    content = b""
    while b"\r\n\r\n" not in content:
        content += connection.recv(2**16) or b"\r\n\r\n"
    head, _, body = content.partition(b"\r\n\r\n")
    lengths = [int(line.split()[-1]) for line in head.split(b"\r\n") if b"ength:" in line]
    while len(body) < sum(lengths):
        body += connection.recv(2**16)
