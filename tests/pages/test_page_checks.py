"""The checks themselves: a page without faults passes, and each fault that is put into it is told."""

from pathlib import Path

import pytest
from browser import BrowserError
from page_checks import check_page, contrast

STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #222; }
@media (prefers-color-scheme: dark) { :root { --paper: #111; --ink: #ddd; } }
body { background: var(--paper); color: var(--ink); margin: 8px; }
svg text { fill: var(--ink); font: 12px sans-serif; }
"""
BODY = """
<h1>Times</h1>
<p>Of <a href="#parts">the parts</a>. <button id="more">More</button> <label>Ranks <input value="4"></label></p>
<div role="tablist"><button role="tab" id="one">One</button><button role="tab" tabindex="-1">Two</button></div>
<figure id="parts">
<svg width="300" height="60" role="img" aria-label="Seconds of each part">
<rect id="bar" width="200" height="20" fill="#888"/><text x="4" y="50">Bcast</text><text x="80" y="50">Reduce</text>
</svg>
<details><summary>As a table</summary><table><tr><th>Bcast<td>2 s</table></details>
</figure>
"""
HEAD = '<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Times</title>'


def written(
    folder: Path, body: str = BODY, head: str = HEAD, style: str = STYLE, html: str = "<html lang=en>"
) -> Path:
    path = folder / "page.html"
    path.write_text(
        f"<!doctype html>{html}<head>{head}<style>{style}</style></head><body>{body}</body></html>"
    )
    return path


def test_a_page_without_faults_has_no_problems_and_is_drawn_in_all_windows(browser, tmp_path):
    assert check_page(written(tmp_path), tmp_path / "shots", browser=browser) == []
    assert sorted(file.name for file in (tmp_path / "shots").iterdir()) == sorted(
        f"page-{width}-{scheme}{state}.png"
        for width in (400, 1400)
        for scheme in ("light", "dark")
        for state in ("", "-open")
    )


#: What is replaced in BODY, by what, and what is then told.
FAULTS = {
    "too wide": ("</h1>", '</h1><div style="width: 500px">x</div>', "508 pixels wide, 400 are there: <div> 'x' (400"),
    "console": ("</h1>", "</h1><script>console.error('so', 3)</script>", "error: so 3"),
    "exception": ("</h1>", "</h1><script>throw new Error('late')</script>", "Error: late"),
    "network": ("</h1>", '</h1><img src="https://example.org/a.png" alt="A">', "asks for https://example.org/a.png"),
    "other file": ("</h1>", '</h1><img src="a.png" alt="A">', "/a.png"),
    "out of Tab's way": ('id="more"', 'id="more" tabindex="-1"', "Tab does not reach <button#more>"),
    "unseen focus": ('id="more"', 'id="more" style="outline: none"', "nobody sees that the focus is on <button#more>"),
    "no name": (">More<", "><", "no name for <button#more> of role button"),
    "mouse alone": (
        "</svg>",
        "</svg><i id=i>x</i><script>i.addEventListener('click', () => 0)</script>",
        "only the mouse reaches <i#i>",
    ),
    "a hand": ('id="bar"', 'id="bar" style="cursor: pointer"', "only the mouse reaches <rect#bar>"),
    "closed part": ("<td>2 s", "<td>2 s<button></button>", "no name for <button> of role button (400 light-open"),
    "drawing": ("</h1>", "</h1><canvas></canvas>", "neither a table nor words for <canvas>"),
    "cut off": ('x="80"', 'x="280"', "cut off in <svg>: <text> 'Reduce'"),
    "one over the other": ('x="80"', 'x="20"', "one over the other: <text> 'Bcast', <text> 'Reduce'"),
    "faint": ("<p>", '<p style="color: #777; background: #888">', "contrast 1.3, #777777 on #888888: <p>"),
    "faint in a drawing": ('y="50">Bcast', 'y="16">Bcast', "<text> 'Bcast' (400 light"),
    "id twice": ('id="more"', 'id="bar"', "the id bar twice"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_told(browser, tmp_path, fault):
    before, after, expected = FAULTS[fault]
    assert before in BODY
    problems = check_page(written(tmp_path, BODY.replace(before, after, 1)), widths=[400], browser=browser)
    assert [problem for problem in problems if expected in problem], problems


def test_what_is_left_out_is_not_told(browser, tmp_path):
    path = written(tmp_path, BODY.replace(">More<", "><", 1))
    assert check_page(path, ignore=["#more"], browser=browser) == []
    path = written(tmp_path, BODY.replace("<p>", "<p style='color: #777'>", 1))
    assert check_page(path, selectors=["h1"], browser=browser) == []


def test_a_head_that_lacks_what_readers_need_is_told(browser, tmp_path):
    problems = check_page(written(tmp_path, head="", html="<html>"), browser=browser)
    assert [problem.partition(":")[0].partition(" (")[0] for problem in problems] == [
        "no title",
        "no language",
        "telephones draw it as wide as a desk",
    ]


def test_other_files_are_allowed_where_a_page_is_not_one_file(browser, tmp_path):
    (tmp_path / "more.css").write_text("p { color: inherit; }")
    path = written(tmp_path, head=HEAD + '<link rel="stylesheet" href="more.css">')
    assert check_page(path, one_file=False, browser=browser) == []
    assert [problem for problem in check_page(path, browser=browser) if "more.css" in problem]


def test_a_page_can_be_used(browser, tmp_path):
    script = (
        "more.onclick = () => { parts.hidden = true; }; more.onkeydown = e => { document.title = e.key; };"
    )
    page = browser.open(written(tmp_path, f"{BODY}<script>{script}</script>"))
    page.click("#more")
    assert page.evaluate("parts.hidden") is True
    page.press("ArrowLeft")
    assert page.evaluate("document.title") == "ArrowLeft"
    with pytest.raises(BrowserError, match="nothing is not defined"):
        page.evaluate("nothing")
    page.close()


def test_contrast_is_that_of_the_guidelines():
    assert contrast([0, 0, 0], [255, 255, 255]) == pytest.approx(21)
    assert contrast([119, 119, 119], [255, 255, 255]) == pytest.approx(4.48, abs=0.01)
