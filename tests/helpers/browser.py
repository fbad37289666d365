"""A headless Chromium that tests drive over a pipe, by the DevTools protocol."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PROGRAM = next((found for name in NAMES if (found := shutil.which(name))), None)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    *("--remote-debugging-pipe", "--hide-scrollbars", "--force-color-profile=srgb"),
)


class Browser:
    """One page of a browser of its own; what it logs and asks of the network is kept."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self._count = 0
        self._unread = b""
        self._home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        # The browser reads commands from descriptor 3 and writes to 4.
        words = f'exec 3<&{theirs_in} 4>&{theirs_out}; exec "$@"'
        command = ["bash", "-c", words, "bash", str(PROGRAM), *FLAGS]
        self._process = subprocess.Popen(
            [*command, f"--user-data-dir={self._home.name}", "about:blank"],
            pass_fds=(theirs_in, theirs_out),
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._session = None
        target = self("Target.createTarget", url="about:blank")["targetId"]
        told = self("Target.attachToTarget", targetId=target, flatten=True)
        self._session = told["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self(f"{domain}.enable")

    def __call__(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Sends a command and gives its result."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            told = self._receive()
            if told.get("id") == self._count:
                assert "error" not in told, told
                return told["result"]
            self.events.append(told)

    def open(self, path: Path, ready: str = "document.documentElement.dataset.ready") -> None:
        """Opens a file and waits until an expression is true."""
        self.events.clear()
        self("Page.navigate", url=path.as_uri())
        self.wait(f"document.readyState == 'complete' && ({ready})")

    def wait(self, condition: str, seconds: float = 60) -> None:
        """Returns when an expression is true."""
        limit = 1000 * seconds
        code = (
            f"new Promise((done, fail) => {{ const began = performance.now(); (function look() {{"
            f"if ({condition}) done(true); else if (performance.now() - began > {limit}) "
            f"fail(new Error('never: ' + {json.dumps(condition)})); "
            "else setTimeout(look, 20); })(); })"
        )
        self.run(code)

    def run(self, code: str) -> Any:
        """The value of an expression, awaited."""
        told = self(
            "Runtime.evaluate",
            expression=code,
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
        )
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def press(self, key: str) -> None:
        """Presses and releases a key."""
        text = {"text": key} if len(key) == 1 else {}
        self("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self("Input.dispatchKeyEvent", type="keyUp", key=key)

    def size(self, width: int, height: int = 900) -> None:
        """Of the window, in pixels."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self("Emulation.setDeviceMetricsOverride", **metrics)

    def scheme(self, name: str) -> None:
        """What the system prefers: light or dark."""
        features = [{"name": "prefers-color-scheme", "value": name}]
        self("Emulation.setEmulatedMedia", features=features)

    def picture(self, path: Path) -> None:
        """A screenshot of what is seen."""
        path.write_bytes(base64.b64decode(self("Page.captureScreenshot")["data"]))

    def complaints(self) -> list[str]:
        """Errors of scripts, what the page's policy has refused, and whatever went to a network."""
        self.run("0")
        found = []
        for event in self.events:
            told = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(str(told["exceptionDetails"]))
            elif event.get("method") == "Log.entryAdded":
                found.append(told["entry"]["text"])
            elif event.get("method") == "Network.requestWillBeSent":
                url = told["request"]["url"]
                found += [] if url.startswith(("file:", "data:", "blob:")) else [url]
        return found

    def close(self) -> None:
        """Ends the browser."""
        self._process.kill()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)
        self._home.cleanup()

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            more = os.read(self._in, 1 << 20)
            if not more:
                raise ConnectionError(f"{PROGRAM} ended with {self._process.wait()}")
            self._unread += more
        message, self._unread = self._unread.split(b"\0", 1)
        return json.loads(message)
