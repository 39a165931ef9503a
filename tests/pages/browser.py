"""Debian's Chromium without a screen, through the pipe of its DevTools protocol: nothing but Python's own library.

    with Browser() as browser:
        page = browser.open(Path("report.html"), width=400, scheme="dark")
        page.click("#show-all")
        page.screenshot(Path("report-400-dark.png"))
        print(page.evaluate("document.title"), page.complaints)

It reaches no network, whatever a page asks for: names are not looked up, and what was asked for is in
`page.requests`.
"""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List, Optional

#: Of what a program is to answer, in seconds.
PATIENCE = 60.0
#: How high a part of a page may be that is drawn at once, in pixels: textures of the software renderer end at 16384.
HIGHEST_PART = 8192


class BrowserError(RuntimeError):
    """What Chromium has refused, or that it does not answer."""


def find_chromium() -> Optional[str]:
    """The program, or None where there is none."""
    for name in ("chromium-headless-shell", "chromium"):
        found = shutil.which(name)
        if found:
            return found
    return None


class Page:
    """A page that has been loaded."""

    def __init__(self, browser: "Browser", session: str, context: str, address: str, width: int) -> None:
        self._browser = browser
        self._session = session
        self._context = context
        self.address = address
        self.width = width
        #: What the console was told as an error or a warning, and what was thrown.
        self.complaints: List[str] = []
        #: The addresses of all that it asked for, its own first.
        self.requests: List[str] = []

    def call(self, method: str, **parameters: Any) -> Dict[str, Any]:
        """One command of the DevTools protocol."""
        return self._browser.call(method, self._session, **parameters)

    def evaluate(self, expression: str) -> Any:
        """What JavaScript makes of it, as JSON has it; promises are awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def settle(self) -> None:
        """Waits until what has been changed is drawn."""
        self.evaluate(
            "document.fonts.ready.then(() => new Promise(done => "
            "requestAnimationFrame(() => requestAnimationFrame(() => done(0)))))"
        )

    def press(self, key: str) -> None:
        """A key by its name in KeyboardEvent.key: 'Tab', 'Enter', 'ArrowRight', 'a'."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36}
        codes.update({"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40})
        about = {"key": key, "code": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0].upper()))}
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        self.call("Input.dispatchKeyEvent", type="keyDown", **about, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    def move_to(self, selector: str) -> List[float]:
        """The mouse to the middle of the first element; returns where that is."""
        where = self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); "
            "e.scrollIntoView({block: 'center', inline: 'center'}); const r = e.getBoundingClientRect(); "
            "return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=where[0], y=where[1])
        return list(where)

    def click(self, selector: str) -> None:
        """With the mouse, in the middle of the first element."""
        x, y = self.move_to(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.settle()

    def height(self) -> int:
        """Of the whole page, in pixels."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        return max(1, int(size["height"]))

    def drawn(self) -> List[bytes]:
        """The whole page as PNGs of `width` pixels, one below the other, each HIGHEST_PART high but for the last."""
        parts = []
        height = self.height()
        for top in range(0, height, HIGHEST_PART):
            clip = {
                "x": 0,
                "y": top,
                "width": self.width,
                "height": min(HIGHEST_PART, height - top),
                "scale": 1,
            }
            answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
            parts.append(base64.b64decode(answer["data"]))
        return parts

    def screenshot(self, file: Path) -> None:
        """Of the whole page, as far as one part goes."""
        file.write_bytes(self.drawn()[0])

    def close(self) -> None:
        self._browser.call("Target.disposeBrowserContext", browserContextId=self._context)

    def heard(self, method: str, about: Dict[str, Any]) -> None:
        """An event of the protocol."""
        if method == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            details = about["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            words = [str(part.get("value", part.get("description", ""))) for part in about["args"]]
            self.complaints.append(f"{about['type']}: {' '.join(words)}")
        elif method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            entry = about["entry"]
            self.complaints.append(f"{entry['level']}: {entry['text']} {entry.get('url', '')}".rstrip())


class Browser:
    """A Chromium, with a profile of its own that ends with it."""

    def __init__(self) -> None:
        program = find_chromium()
        if program is None:
            raise BrowserError("Chromium is not installed: ./dev setup --pages")
        self._profile = tempfile.TemporaryDirectory(prefix="tutti-pages-", ignore_cleanup_errors=True)
        command = [program, "--headless", "--remote-debugging-pipe", f"--user-data-dir={self._profile.name}"]
        # Containers have a small /dev/shm. Only root has to do without the sandbox.
        command += ["--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run"]
        command += ["--host-resolver-rules=MAP * ~NOTFOUND", "--disable-background-networking"]
        command += ["--disable-component-update", "--force-color-profile=srgb", "--font-render-hinting=none"]
        command += ["--enable-blink-features=ComputedAccessibilityInfo"]
        command += ["--no-sandbox"] if os.geteuid() == 0 else []
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()
        # Chromium reads file 3 and writes file 4.
        joined = f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}'
        self._process = subprocess.Popen(
            ["bash", "-c", joined, *command],
            pass_fds=(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._read = bytearray()
        self._last = 0
        self._pages: Dict[str, Page] = {}
        self._loaded: Dict[str, bool] = {}

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _message(self, until: float) -> Dict[str, Any]:
        """The next one."""
        while True:
            end = self._read.find(0)
            if end >= 0:
                text = bytes(self._read[:end])
                del self._read[: end + 1]
                return dict(json.loads(text))
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._from], [], [], left)[0]:
                raise BrowserError("Chromium does not answer")
            more = os.read(self._from, 1 << 20)
            if not more:
                raise BrowserError("Chromium has ended")
            self._read += more

    def _hear(self, message: Dict[str, Any]) -> None:
        session = message.get("sessionId", "")
        if message.get("method") == "Page.loadEventFired":
            self._loaded[session] = True
        if session in self._pages and "method" in message:
            self._pages[session].heard(message["method"], message.get("params", {}))

    def call(self, method: str, session: str = "", **parameters: Any) -> Dict[str, Any]:
        """One command, and its answer; events that come before it are heard."""
        self._last += 1
        message: Dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while True:
            heard = self._message(until)
            if heard.get("id") == self._last:
                if "error" in heard:
                    raise BrowserError(f"{method}: {heard['error']['message']}")
                return dict(heard["result"])
            self._hear(heard)

    def open(
        self, file: Path, width: int = 1400, scheme: str = "light", height: int = 900, before_load: str = ""
    ) -> Page:
        """A local HTML file in a window of that size, in pixels. scheme: 'light' or 'dark', as its reader prefers.
        before_load: JavaScript that runs before the page's own."""
        # Each page has storage of its own: it shall not know what another was told.
        context = self.call("Target.createBrowserContext", disposeOnDetach=True)["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, context, file.resolve().as_uri(), width)
        self._pages[session] = page
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            page.call(f"{domain}.enable")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        page.call("Emulation.setDeviceMetricsOverride", **size)
        features = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
        named = [{"name": name, "value": value} for name, value in features.items()]
        page.call("Emulation.setEmulatedMedia", features=named)
        page.call("Emulation.setFocusEmulationEnabled", enabled=True)
        if before_load:
            page.call("Page.addScriptToEvaluateOnNewDocument", source=before_load)
        answer = page.call("Page.navigate", url=page.address)
        if answer.get("errorText"):
            raise BrowserError(f"{file}: {answer['errorText']}")
        until = time.monotonic() + PATIENCE
        while not self._loaded.get(session):
            self._hear(self._message(until))
        page.settle()
        return page

    def close(self) -> None:
        for file in (self._to, self._from):
            os.close(file)
        try:
            os.killpg(self._process.pid, signal.SIGTERM)
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        except ProcessLookupError:
            self._process.wait()
        self._profile.cleanup()
