"""A chat API on this machine whose answers are hostile, byte by byte."""

import contextlib
import gzip
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
Send = Callable[[bytes], None]
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


def drip(send: Send, text: bytes, pause: float = 0.05) -> None:
    """Sends a byte now and then, again and again."""
    while True:
        for byte in text:
            send(bytes([byte]))
            time.sleep(pause)


def flood(send: Send, piece: bytes) -> None:
    """Sends the same, without an end."""
    while True:
        send(piece)


def endless(send: Send, head: bytes, act: Callable[[Send, bytes], None], text: bytes) -> None:
    send(head)
    act(send, text)


LENGTH = OK + b"Content-Length: 10000000000\r\n\r\n"
CHUNK = b"100000\r\n" + MEBIBYTE + b"\r\n"

SLOW = {
    "silence": lambda send: time.sleep(60),
    "a slow status line": lambda send: drip(send, b"H"),
    "a slow header": lambda send: endless(send, b"HTTP/1.1 200 OK\r\nX: ", drip, b"x"),
    "slow headers": lambda send: endless(send, b"HTTP/1.1 200 OK\r\n", drip, b"X: y\r\n"),
    "a slow body of known length": lambda send: endless(send, LENGTH, drip, b" "),
    "a slow body without length": lambda send: endless(send, OK + b"\r\n", drip, b" "),
    "slow chunks": lambda send: endless(send, CHUNKED, drip, b"1\r\n \r\n"),
    "a slow size of a chunk": lambda send: endless(send, CHUNKED, drip, b"0"),
    "slow trailers": lambda send: endless(send, CHUNKED + b"1\r\n \r\n0\r\n", drip, b"X: y\r\n"),
    "a slow refusal": lambda send: endless(send, refusal(b"")[:-19], drip, b" "),
    "a body that stops": lambda send: endless(send, LENGTH + b"{", lambda *_: time.sleep(60), b""),
    "continuing for ever": lambda send: endless(send, b"", drip, b"HTTP/1.1 100 Continue\r\n\r\n"),
}
"""Answers that never end, a little at a time."""

LARGE = {
    "ten gigabytes": lambda send: endless(send, LENGTH, flood, MEBIBYTE),
    "ten gigabytes of one text": lambda send: endless(
        send, LENGTH + chat("")[:-5], flood, b"x" * 2**20
    ),
    "a body without an end": lambda send: endless(send, OK + b"\r\n", flood, MEBIBYTE),
    "chunks without an end": lambda send: endless(send, CHUNKED, flood, CHUNK),
    "one chunk without an end": lambda send: endless(
        send, CHUNKED + b"FFFFFFFFFFFF\r\n", flood, MEBIBYTE
    ),
}
"""Answers that are too large."""

BROKEN = {
    "a long header": lambda send: endless(send, b"HTTP/1.1 200 OK\r\nX: ", flood, b"x" * 2**16),
    "headers without an end": lambda send: endless(
        send, b"HTTP/1.1 200 OK\r\n", flood, b"X: y\r\n"
    ),
    "a refusal without an end": lambda send: endless(
        send, b"HTTP/1.1 400 No\r\n\r\n", flood, MEBIBYTE
    ),
    "a redirect with ten gigabytes": lambda send: endless(
        send, b"HTTP/1.1 307 No\r\nLocation: /other\r\n\r\n", flood, MEBIBYTE
    ),
    "a slow redirect": lambda send: endless(
        send, b"HTTP/1.1 302 Found\r\nLocation: /other\r\n\r\n", drip, b" "
    ),
    "a redirect to itself": lambda send: send(
        b"HTTP/1.1 302 Found\r\nLocation: /v1/chat/completions\r\nContent-Length: 0\r\n\r\n"
    ),
    "a redirect to a file": lambda send: send(
        b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n"
    ),
    "a redirect to FTP": lambda send: send(
        b"HTTP/1.1 302 Found\r\nLocation: ftp://127.0.0.1:1/x\r\nContent-Length: 0\r\n\r\n"
    ),
    "a redirect to nowhere": lambda send: send(
        b"HTTP/1.1 302 Found\r\nLocation: http://[::1\r\nContent-Length: 0\r\n\r\n"
    ),
    "no HTTP": lambda send: send(b"\x00\x01\x02\xff" * 99),
    "a negative length": lambda send: send(OK + b"Content-Length: -1\r\n\r\n"),
    "a chunk of negative size": lambda send: send(CHUNKED + b"-5\r\n"),
    "a page of HTML": lambda send: send(answer(b"<html>", OK.replace(b"json", b"html"))),
    "a bomb of gzip": lambda send: send(
        answer(gzip.compress(MEBIBYTE * 100), OK + b"Content-Encoding: gzip\r\n")
    ),
    "deep JSON": lambda send: send(answer(b"[" * 10**6)),
    "deep objects": lambda send: send(answer(b'{"choices":' * 10**5)),
    "a long number": lambda send: send(answer(b"1" * 5000)),
    "a number as text": lambda send: send(answer(chat(7))),
    "parts as text": lambda send: send(answer(chat([{"type": "text"}]))),
    "no choice": lambda send: send(answer(b'{"choices": []}')),
    "no object": lambda send: send(answer(b"null")),
    "half a letter": lambda send: send(answer(b'{"choices": "\xff\xfe')),
}
"""Answers that are none, in one line at once."""


def escaped(key: bytes) -> bytes:
    """The characters of a key as escapes of JSON."""
    return b'{"error": "' + b"".join(b"\\u%04X" % each for each in key) + b'"}'


ECHOES = {
    "in the text of a refusal": lambda send, key: send(refusal(b"bad key: " + key)),
    "in the text of a refusal, often": lambda send, key: send(refusal(key * 1000)),
    "in a status line": lambda send, key: send(refusal(b"", b"401 " + key)),
    "as a status line": lambda send, key: send(b"Authorization: Bearer " + key + b"\r\n\r\n"),
    "in a redirect": lambda send, key: send(
        b"HTTP/1.1 302 Found\r\nLocation: gopher://" + key + b"\r\nContent-Length: 0\r\n\r\n"
    ),
    "in a length": lambda send, key: send(CHUNKED + key + b"\r\n"),
    "as JSON": lambda send, key: send(refusal(json.dumps({"key": key.decode()}).encode())),
    "in escapes of JSON": lambda send, key: send(refusal(escaped(key))),
    "in escapes of escapes": lambda send, key: send(
        refusal(json.dumps(escaped(key).decode()).encode())
    ),
    "in escapes, cut off": lambda send, key: send(refusal(escaped(key) * 1000)),
    "as part of a URL": lambda send, key: send(refusal("".join(f"%{c:02X}" for c in key).encode())),
    "in a response": lambda send, key: send(answer(chat(f"is it {key.decode()}?"))),
}
"""Answers with the key of the request."""


@contextlib.contextmanager
def hostile_server(behave: Callable[..., None]) -> Iterator[str]:
    """The URL of a server that answers every request by `behave(send)` or `behave(send, key)`."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_serve, args=(server, behave), daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        # A thread that waits in `accept` would keep the port.
        server.shutdown(socket.SHUT_RDWR)


def _serve(server: socket.socket, behave: Callable[..., None]) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection, _ = server.accept()
            threading.Thread(target=_answer, args=(connection, behave), daemon=True).start()


def _answer(connection: socket.socket, behave: Callable[..., None]) -> None:
    with connection, contextlib.suppress(OSError):
        head = _request_head(connection)
        keys = [line.split()[-1] for line in head.split(b"\r\n") if line.startswith(b"Authori")]
        takes_key = behave.__code__.co_argcount == 2
        behave(connection.sendall, *keys) if takes_key else behave(connection.sendall)


def _request_head(connection: socket.socket) -> bytes:
    """The head of a request, which has been received whole."""
    content = b""
    while b"\r\n\r\n" not in content:
        content += connection.recv(2**16) or b"\r\n\r\n"
    head, _, body = content.partition(b"\r\n\r\n")
    lengths = [int(line.split()[-1]) for line in head.split(b"\r\n") if b"ength:" in line]
    while len(body) < sum(lengths):
        body += connection.recv(2**16)
    return head
