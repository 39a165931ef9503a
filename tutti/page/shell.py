"""A page as one HTML file: headings, tables, figures with their tables, data and scripts. It loads nothing."""

import json
import re
from html import escape
from pathlib import Path
from typing import Any, List, Sequence, Tuple, Union

from tutti import __version__, files

#: What a cell shows: a text, a number, or a text with the number that it is sorted by; None: nothing.
Cell = Union[str, int, float, None, Tuple[str, float]]

#: Colours of series on light and on dark paper. Any two differ for those who lack one kind of cones, too.
SERIES = (
    ("#0b57b7", "#87bcff"), ("#ff3f1a", "#e4712f"), ("#009481", "#4df99a"),
    ("#9c2f86", "#c85bae"), ("#639921", "#fcda50"), ("#3a3a42", "#dcf2f0"),
)  # fmt: skip
#: The least and the most of a map, on light and on dark paper: more stands out more.
HEAT = (("#eef4fb", "#0b4586"), ("#24405c", "#c4e2ff"))
HEAT_STEPS = 9
#: Letters of a cell that stays one line.
SHORT = 28

_HERE = Path(__file__).resolve().parent
#: Scripts and styles may come from the page alone, and nothing from anywhere else.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def luminance(colour: str) -> float:
    """Of #rrggbb, as WCAG 2 defines it: 0 for black, 1 for white."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def heat_colours(scheme: int) -> List[Tuple[str, str]]:
    """Fill and ink of each step of a map. scheme: 0 for light paper, 1 for dark."""
    least, most = ([int(end[at : at + 2], 16) for at in (1, 3, 5)] for end in HEAT[scheme])
    colours = []
    for step in range(HEAT_STEPS):
        part = step / (HEAT_STEPS - 1)
        fill = "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in zip(least, most))
        # Black and white are equally far from this.
        colours.append((fill, "#000000" if luminance(fill) > 0.179 else "#ffffff"))
    return colours


def _variables(scheme: int) -> str:
    series = [f"--series-{number}: {colours[scheme]};" for number, colours in enumerate(SERIES, 1)]
    heat = [
        f"--heat-{step}: {fill}; --heat-ink-{step}: {ink};"
        for step, (fill, ink) in enumerate(heat_colours(scheme), 1)
    ]
    return f":root {{ {' '.join(series + heat)} }}"


def marked(text: str) -> str:
    """Escaped text, in which what stands between backticks is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def as_text(value: Cell) -> str:
    """What a cell shows."""
    if isinstance(value, tuple):
        return value[0]
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _cell(value: Cell, column: int, is_number: bool) -> str:
    text = escape(as_text(value))
    kind = ' class="number"' if is_number else ' class="short"' if len(text) <= SHORT else ""
    if is_number and value is not None:
        kind += f' data-value="{value[1] if isinstance(value, tuple) else value}"'
    return f'<th scope="row"{kind}>{text}</th>' if column == 0 else f"<td{kind}>{text}</td>"


def table(columns: Sequence[str], rows: Sequence[Sequence[Cell]], caption: str) -> str:
    """A table as HTML; a column is one of numbers if each of its cells is a number or has one. Its headers sort it."""
    wide = range(len(columns))
    numbers = [bool(rows) and all(not isinstance(row[at], str) for row in rows) for at in wide]
    buttons = [f'<button type="button">{escape(name)}</button>' if name else "" for name in columns]
    heads = "".join(
        f'<th scope="col"{" class=number" if number else ""}>{button}</th>'
        for number, button in zip(numbers, buttons)
    )
    body = "\n".join(f"<tr>{''.join(_cell(row[at], at, numbers[at]) for at in wide)}</tr>" for row in rows)
    name = escape(caption, quote=True)
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{name}"><table>\n'
        f"<caption>{marked(caption)}</caption>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>\n"
    )


class Page:
    """A page that is put together from the top to the bottom, then written. Texts are escaped; between backticks they
    are code. Styles and scripts use the variables of shell.css: --ink, --muted, --paper, --raised, --line, --accent,
    --good, --bad, --series-1 to --series-6 and, for maps, --heat-1 to --heat-9 with --heat-ink-1 to --heat-ink-9."""

    def __init__(self, title: str, subtitle: str = "") -> None:
        self.title = title
        self.subtitle = subtitle
        self._sections: List[Tuple[str, str]] = []
        self._body: List[str] = []
        self._styles: List[str] = []
        self._data: List[str] = []
        self._scripts: List[str] = []

    def section(self, name: str, heading: str) -> None:
        """What follows stands below this heading, which the list of contents names. name: the id, for links."""
        self._body.append("</section>\n" if self._sections else "")
        self._sections.append((name, heading))
        self._body.append(
            f'<section aria-labelledby="{escape(name)}"><h2 id="{escape(name)}" tabindex="-1">{escape(heading)}</h2>\n'
        )

    def heading(self, text: str) -> None:
        """A heading below that of the section."""
        self._body.append(f"<h3>{marked(text)}</h3>\n")

    def text(self, text: str) -> None:
        """A paragraph."""
        self._body.append(f"<p>{marked(text)}</p>\n")

    def markup(self, html: str) -> None:
        """HTML as it is: the places that a script fills, for instance."""
        self._body.append(html)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Cell]], caption: str) -> None:
        """A table that scrolls by itself where it is wider than the window."""
        self._body.append(table(columns, rows, caption))

    def figure(
        self, drawn: str, title: str, description: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]]
    ) -> None:
        """What is drawn (SVG, or a place that a script fills), and the table of its numbers, which can be opened.

        description: what to see in it, shown below the title. An SVG needs role="img" and an aria-label."""
        self._body.append(
            f"<figure><figcaption><strong>{marked(title)}</strong> {marked(description)}</figcaption>\n"
            f'<div class="drawn">{drawn}</div>\n'
            f'<details><summary>Table<span class="hidden">: {escape(title)}</span></summary>\n'
            f"{table(columns, rows, title)}</details></figure>\n"
        )

    def folded(self, summary: str, html: str) -> None:
        """What is shown when its summary is opened; html: as table() gives it, for instance."""
        self._body.append(f"<details><summary>{marked(summary)}</summary>\n{html}</details>\n")

    def data(self, value: Any, name: str = "data") -> None:
        """JSON that scripts read: JSON.parse(document.getElementById("data").textContent)."""
        text = json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
        self._data.append(f'<script type="application/json" id="{escape(name)}">{text}</script>\n')

    def script(self, text: str) -> None:
        """JavaScript that runs when all of the page is there."""
        self._scripts.append(re.sub(r"</(script)", r"<\\/\1", text, flags=re.IGNORECASE))

    def style(self, text: str) -> None:
        """CSS, after that of all pages."""
        self._styles.append(text.replace("</", "<\\/"))

    def html(self) -> str:
        """The whole file."""
        links = "".join(
            f'<li><a href="#{escape(name)}">{escape(heading)}</a></li>' for name, heading in self._sections
        )
        contents = f'<nav aria-label="Contents"><ul>{links}</ul></nav>' if len(self._sections) > 1 else ""
        dark = f"@media screen and (prefers-color-scheme: dark) {{ {_variables(1)} }}"
        styles = [_variables(0), dark, (_HERE / "shell.css").read_text(encoding="utf-8"), *self._styles]
        scripts = [(_HERE / "shell.js").read_text(encoding="utf-8"), *self._scripts]
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n<link rel="icon" href="data:,">\n'
            f"<title>{escape(self.title)}</title>\n<style>\n{chr(10).join(styles)}</style>\n</head>\n<body>\n"
            '<a class="skip" href="#main">Skip to the content</a>\n'
            f"<header><h1>{escape(self.title)}</h1><p>{marked(self.subtitle)}</p>{contents}</header>\n"
            f'<main id="main" tabindex="-1">\n{"".join(self._body)}{"</section>" if self._sections else ""}\n</main>\n'
            f"<footer><p>Written by Tutti {__version__}.</p></footer>\n{''.join(self._data)}"
            + "".join(f"<script>\n{text}</script>\n" for text in scripts)
            + "</body>\n</html>\n"
        )

    def write(self, path: Path) -> None:
        """Writes the file. Raises UserError."""
        files.write(path, self.html())
