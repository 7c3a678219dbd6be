"""A real browser for the tests of pages: the audit report, the site and notebooks."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

# The browser reads from 3 and writes to 4. A function between fork and exec would do the same,
# and Python 3.12 warns of those if there are threads, as pytest-xdist has them.
GIVE_PIPES = """
import os, sys
from fcntl import F_DUPFD_CLOEXEC, fcntl
pipes = [fcntl(int(one), F_DUPFD_CLOEXEC, 10) for one in sys.argv[1:3]]
for pipe, number in zip(pipes, (3, 4)):
    os.dup2(pipe, number)
os.execv(sys.argv[3], sys.argv[3:])
"""
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


def find_chromium():
    """Return the browser's path; skip without one (`make browser` installs it)."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("there is no Chromium here; install it with: make browser")
    return found


class Chromium:
    """One tab of a headless browser, spoken to over two pipes, without any driver.

    `messages` collects what the page logs, errors and uncaught exceptions;
    `requests` every address that it asks for.
    """

    def __init__(self, path, width=1280, height=900):
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        down, self._write = os.pipe()
        self._read, up = os.pipe()
        pipes = [sys.executable, "-c", GIVE_PIPES, str(down), str(up)]
        profile = f"--user-data-dir={self._profile.name}"
        self._process = subprocess.Popen(
            [*pipes, path, *OPTIONS, profile, "about:blank"],
            pass_fds=(down, up),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(down)
        os.close(up)
        self._buffer, self._count, self._session = b"", 0, None
        self.messages, self.requests, self._events = [], [], []
        targets = self._call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        attached = self._call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")
        self.resize(width, height)

    def resize(self, width, height):
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip

    def color_scheme(self, scheme):
        """Ask for "light" or "dark" as the user's system would."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._call("Emulation.setEmulatedMedia", features=features)

    def medium(self, medium):
        """Show the page as on "screen", or as on paper, which is "print"."""
        self._call("Emulation.setEmulatedMedia", media=medium)

    def open(self, file):
        """Open a file from disk."""
        self.messages.clear()
        self.requests.clear()
        self._events.clear()
        self._call("Page.navigate", url=Path(file).resolve().as_uri())
        while "Page.loadEventFired" not in self._events:
            self._receive()

    def run(self, script):
        """Evaluate an expression in the page, and return its value."""
        answer = self._call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def press(self, key, code):
        """Press a key, as a user would."""
        for kind in ("rawKeyDown", "keyUp"):
            self._call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code
            )

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self._call(
                "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1,
                clickCount=1,
            )  # fmt: skip

    def screenshot(self, file, whole=False):
        """Save a picture of the window, or of the whole page."""
        data = self._call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        Path(file).write_bytes(base64.b64decode(data))

    def pdf(self):
        """Return the page as it prints."""
        return base64.b64decode(self._call("Page.printToPDF", printBackground=True)["data"])

    def close(self):
        self._process.terminate()
        self._process.wait(timeout=20)
        os.close(self._write)
        os.close(self._read)
        self._profile.cleanup()

    def _call(self, method, **parameters):
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == message["id"]:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def _receive(self):
        while b"\0" not in self._buffer:
            part = os.read(self._read, 1 << 16)
            assert part, "the browser has gone"
            self._buffer += part
        line, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(line)
        self._note(message)
        return message

    def _note(self, message):
        method, parameters = message.get("method"), message.get("params", {})
        self._events.append(method)
        if method == "Runtime.exceptionThrown":
            self.messages.append(parameters["exceptionDetails"])
        elif method == "Runtime.consoleAPICalled":
            self.messages.append(parameters["args"])
        elif method == "Log.entryAdded":
            self.messages.append(parameters["entry"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
