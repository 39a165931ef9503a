#!/usr/bin/env python3
"""Checks of HTML pages that Tutti writes, in a Chromium without a screen: what a reader would be kept from.

From a test, or by hand (`./dev setup --pages` installs the browser):

    from page_checks import check_page
    assert check_page(Path("report.html"), Path("build/screenshots")) == []

    .venv/bin/python tests/pages/page_checks.py report.html --screenshots build/screenshots

A page is opened in windows of 400 and 1400 pixels, light and dark. In each of these four

- nothing is written to the console as an error or a warning, and nothing is thrown;
- nothing is asked for but files: of the page alone if `one_file`, else also others on this machine;
- it is no wider than its window; it has a title, a language, and a width for telephones;
- Tab reaches whatever can be clicked, one sees where the focus is, and each such element has a name;
- whatever listens to the mouse, or shows a hand, can be reached by Tab or holds something that can;
- each drawing (svg, canvas, img) has words (title, aria-label, alt, aria-describedby) or a table in its <figure>;
- texts of a drawing do not cover each other, and are not cut off;
- text has enough contrast with what is most of its background: 4.5, large text 3 (WCAG 2, 1.4.3);

and the whole page is drawn to SCREENSHOTS/NAME-400-light.png and so on. If there are closed <details> they are then
opened, all of it is checked again, and drawn to NAME-400-light-open.png.

What a page does when something is clicked is tested with `browser.Page`: `click(selector)`, `press(key)`,
`evaluate(javascript)`. `look_at(page)` checks it as it then is.
"""

import argparse
import io
import json
import sys
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

import numpy as np
from browser import Browser, Page
from PIL import Image

HERE = Path(__file__).resolve().parent
WIDTHS = (400, 1400)
SCHEMES = ("light", "dark")
#: Contrast of text with its background, at the least.
ENOUGH, ENOUGH_IF_LARGE = 4.5, 3.0


def _luminance(color: np.ndarray) -> float:
    """Of a color in sRGB, 0 to 255 each, as WCAG defines it."""
    parts = np.asarray(color, dtype=float) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one: np.ndarray, other: np.ndarray) -> float:
    """Of two colors, 1 to 21."""
    lower, higher = sorted((_luminance(one), _luminance(other)))
    return (higher + 0.05) / (lower + 0.05)


def _background(pixels: np.ndarray) -> np.ndarray:
    """The color of most pixels."""
    colors, counts = np.unique(pixels.reshape(-1, 3) @ [1 << 16, 1 << 8, 1], return_counts=True)
    color = int(colors[counts.argmax()])
    return np.array([color >> 16, color >> 8 & 255, color & 255])


def _faint(page: Page, selectors: Sequence[str], parts: Sequence[bytes]) -> List[str]:
    """Texts without enough contrast, one line for each pair of colors. parts: the page as it is drawn."""
    texts = page.evaluate(f"checks.texts({json.dumps(', '.join(selectors))})")
    if not texts:
        return []
    drawn = np.concatenate([np.asarray(Image.open(io.BytesIO(part)).convert("RGB")) for part in parts])
    found: Dict[Tuple[str, str], List[str]] = {}
    for text in texts:
        left, top, right, bottom = (round(edge) for edge in text["box"])
        pixels = drawn[max(0, top) : bottom, max(0, left) : right]
        if not pixels.size:
            continue
        background = _background(pixels)
        color = text["opacity"] * np.array(text["color"]) + (1 - text["opacity"]) * background
        ratio = contrast(color, background)
        if ratio < (ENOUGH_IF_LARGE if text["large"] else ENOUGH):
            names = ["#" + "".join(f"{round(part):02x}" for part in each) for each in (color, background)]
            found.setdefault((f"{ratio:.1f}", " on ".join(names)), []).append(text["what"])
    return [
        f"contrast {ratio}, {colors}: {where[0]}" + (f" and {len(where) - 1} more" if where[1:] else "")
        for (ratio, colors), where in found.items()
    ]


def _keyboard(page: Page) -> List[str]:
    """What Tab does not reach, or reaches unseen."""
    most = 2 * int(page.evaluate("checks.start_keyboard()")) + 100
    for _ in range(most):
        page.press("Tab")
        if not page.evaluate("checks.after_tab()"):
            return list(page.evaluate("checks.end_keyboard()"))
    return [f"Tab pressed {most} times does not come around"]


def look_at(
    page: Page,
    selectors: Sequence[str] = ("body *",),
    ignore: Sequence[str] = (),
    screenshot: Optional[Path] = None,
) -> List[str]:
    """Problems of a page as it is now, which is drawn to the file `screenshot`. selectors: of texts whose contrast
    counts. ignore: of elements that are left out, with all in them."""
    page.evaluate((HERE / "checks.js").read_text(encoding="utf-8") + ";0")
    page.evaluate(f"checks.ignore({json.dumps(', '.join(ignore))})")
    page.settle()
    parts = page.drawn()
    if screenshot is not None:
        screenshot.write_bytes(parts[0])
    problems = [*page.evaluate("checks.head()"), *page.evaluate("checks.wide()")]
    problems += page.evaluate("checks.drawings()")
    problems += _faint(page, selectors, parts)
    return problems + _keyboard(page)


def _foreign(page: Page, one_file: bool) -> List[str]:
    """What it asked for that it should not."""
    asked = []
    for address in page.requests:
        here = address.startswith(("data:", "blob:", "about:")) or address == page.address
        if not here and (one_file or not address.startswith("file:")):
            asked.append(f"asks for {address[:100]}")
    return asked


def check_page(
    path: Path,
    screenshots_to: Optional[Path] = None,
    *,
    selectors: Sequence[str] = ("body *",),
    ignore: Sequence[str] = (),
    one_file: bool = True,
    widths: Sequence[int] = WIDTHS,
    browser: Optional[Browser] = None,
) -> List[str]:
    """Problems of an HTML file, each with where it was seen; none: an empty list.

    screenshots_to: a folder, made if need be. selectors, ignore: as of look_at(). one_file: it is to ask for no other.
    browser: one that runs; else one is started for this page.
    """
    if browser is None:
        with Browser() as own:
            return check_page(
                path,
                screenshots_to,
                selectors=selectors,
                ignore=ignore,
                one_file=one_file,
                widths=widths,
                browser=own,
            )
    if screenshots_to is not None:
        screenshots_to.mkdir(parents=True, exist_ok=True)
    seen: Dict[str, List[str]] = {}
    before_load = (HERE / "before_load.js").read_text(encoding="utf-8")
    for width in widths:
        for scheme in SCHEMES:
            page = browser.open(path, width, scheme, before_load=before_load)
            for state in ("", "-open"):
                if state and not page.evaluate("checks.open_all()"):
                    break
                file = screenshots_to and screenshots_to / f"{path.stem}-{width}-{scheme}{state}.png"
                for problem in look_at(page, selectors, ignore, file):
                    seen.setdefault(problem, []).append(f"{width} {scheme}{state}")
            for problem in [*page.complaints, *_foreign(page, one_file)]:
                seen.setdefault(problem, []).append(f"{width} {scheme}")
            page.close()
    return [f"{problem} ({', '.join(dict.fromkeys(where))})" for problem, where in seen.items()]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pages", nargs="+", type=Path, metavar="PAGE")
    parser.add_argument("--screenshots", type=Path, metavar="FOLDER")
    parser.add_argument(
        "--ignore", nargs="+", default=[], metavar="SELECTOR", help="elements that are left out"
    )
    parser.add_argument("--beside", action="store_true", help="pages may ask for other files of this machine")
    options = parser.parse_args()
    failed = 0
    with Browser() as browser:
        for path in options.pages:
            # Pages of a site may have one name.
            to = options.screenshots and options.screenshots / path.resolve().parent.name
            problems = check_page(
                path, to, ignore=options.ignore, one_file=not options.beside, browser=browser
            )
            failed += bool(problems)
            print(
                "\n".join([f"{'FAIL' if problems else 'PASS'} {path}", *(f"  {line}" for line in problems)])
            )
    print(f"{len(options.pages) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
