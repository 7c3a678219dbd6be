"""A real browser for the tests of pages: the audit report, the site and notebooks."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zlib
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

    def printed_lines(self):
        """Return the lines of every printed page, from its head to its foot."""
        return pdf_lines(self.pdf())

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


# ------------------------------------------------- text of a PDF that Chromium printed

OBJECT = re.compile(rb"(\d+) 0 obj\b(.*?)\bendobj", re.S)
# How many bytes a stream has: its own last byte may be one of an end of line.
LENGTH, STREAM = re.compile(rb"/Length (\d+)\b(?! 0 R)"), re.compile(rb"\bstream\r?\n")
# Positions, fonts, shown glyphs: all that is needed to know which text stands where.
TOKEN = re.compile(
    rb"(?P<cm>(?:[-\d.]+ ){6})cm|(?P<tm>(?:[-\d.]+ ){6})Tm|(?P<td>[-\d.]+ [-\d.]+ )Td|"
    rb"/(?P<font>\w+) [-\d.]+ Tf|<(?P<hex>[0-9A-Fa-f]+)> ?Tj|(?P<array>\[[^\]]*\]) ?TJ|"
    rb"\b(?P<push>q)\b|\b(?P<pop>Q)\b"
)


def pdf_lines(data):
    """Return the lines of every page, from its head to its foot."""
    objects = {int(number): body for number, body in OBJECT.findall(data)}
    pages = [body for body in objects.values() if re.search(rb"/Type\s*/Page\b", body)]
    return [_lines(objects, body) for body in pages]


def _stream(body):
    start, length = STREAM.search(body).end(), int(LENGTH.search(body).group(1))
    content = body[start : start + length]
    return zlib.decompress(content) if b"FlateDecode" in body else content


def _reference(name, body):
    found = re.search(rb"/" + name + rb"\s+(\d+) 0 R", body)
    return None if found is None else int(found.group(1))


def _lines(objects, page):
    resources = page
    if (place := _reference(b"Resources", page)) is not None:
        resources = objects[place]
    fonts = re.search(rb"/Font\s*<<(.*?)>>", resources, re.S)
    found = re.findall(rb"/(\w+)\s+(\d+) 0 R", fonts.group(1)) if fonts else []
    glyphs = {name: _glyphs(objects, objects[int(number)]) for name, number in found}
    placed = _placed(_stream(objects[_reference(b"Contents", page)]), glyphs)
    lines = {}
    for y, x, text in placed:
        lines.setdefault(round(y / 2), []).append((x, text))
    ordered = sorted(lines.items(), reverse=True)
    return [
        "".join(text for _, text in sorted(line, key=lambda one: one[0])) for _, line in ordered
    ]


def _glyphs(objects, font):
    """Return the text of every glyph of a font, from its ToUnicode map."""
    place, known = _reference(b"ToUnicode", font), {}
    if place is None:
        return known
    table = _stream(objects[place])
    for block in re.findall(rb"beginbfchar(.*?)endbfchar", table, re.S):
        for code, text in re.findall(rb"<(\w+)>\s*<(\w+)>", block):
            known[int(code, 16)] = bytes.fromhex(text.decode()).decode("utf-16-be")
    for block in re.findall(rb"beginbfrange(.*?)endbfrange", table, re.S):
        for low, high, text in re.findall(rb"<(\w+)>\s*<(\w+)>\s*<(\w+)>", block):
            first = int(text, 16)
            for k in range(int(low, 16), int(high, 16) + 1):
                known[k] = chr(first + k - int(low, 16))
    return known


def _placed(content, glyphs):
    """Return height, left end and text of everything that is shown."""
    matrix, stack, font, found = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0), [], None, []
    text = matrix
    for token in TOKEN.finditer(content):
        kind, value = token.lastgroup, token.group(token.lastgroup)
        if kind == "push":
            stack.append(matrix)
        elif kind == "pop":
            matrix = stack.pop() if stack else matrix
        elif kind == "cm":
            matrix = _times(tuple(map(float, value.split())), matrix)
        elif kind == "tm":
            text = tuple(map(float, value.split()))
        elif kind == "td":
            x, y = map(float, value.split())
            text = _times((1.0, 0.0, 0.0, 1.0, x, y), text)
        elif kind == "font":
            font = value
        else:
            codes = b"".join(re.findall(rb"<(\w+)>", value)) if kind == "array" else value
            shown = "".join(
                glyphs.get(font, {}).get(int(codes[k : k + 4], 16), "")
                for k in range(0, len(codes), 4)
            )
            place = _times(text, matrix)
            found.append((place[5], place[4], shown))
    return found


def _times(a, b):
    """Multiply two affine maps as PDF writes them."""
    return (
        a[0] * b[0] + a[1] * b[2],
        a[0] * b[1] + a[1] * b[3],
        a[2] * b[0] + a[3] * b[2],
        a[2] * b[1] + a[3] * b[3],
        a[4] * b[0] + a[5] * b[2] + b[4],
        a[4] * b[1] + a[5] * b[3] + b[5],
    )
