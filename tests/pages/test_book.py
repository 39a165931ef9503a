"""The book, as ./dev book has made it: how its pages look, and that it can be searched without a network."""

import time
from pathlib import Path

import pytest
from page_checks import check_page

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "build" / "book"
PAGES = "index outside/index start symptoms explain tune papers api algorithms measurements/index".split()
#: What stands around the pages is the theme's: its menu for telephones is not for keyboards.
FRAME = [".md-header", ".md-sidebar"]


@pytest.fixture(scope="module", autouse=True)
def made():
    made = BOOK / "index.html"
    newest = max(file.stat().st_mtime for file in [*ROOT.glob("docs/**/*.md"), *ROOT.glob("tools/book/*")])
    if not made.exists() or made.stat().st_mtime < newest:
        pytest.skip("the book is not there, or older than docs/: ./dev book")


@pytest.mark.parametrize("page", PAGES)
def test_a_page_looks_as_it_should(browser, page):
    shots = ROOT / "build" / "screenshots" / page.replace("/", "-")
    assert check_page(BOOK / f"{page}.html", shots, ignore=FRAME, one_file=False, browser=browser) == []


def test_no_page_is_wider_than_a_telephone_or_asks_for_the_network(browser):
    for file in sorted(BOOK.rglob("*.html")):
        page = browser.open(file, 400)
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 400, file
        assert not [address for address in page.requests if not address.startswith(("file:", "data:"))], file
        page.close()


def test_dark_is_dark(browser):
    paper = "getComputedStyle(document.body).backgroundColor"
    colors = [
        browser.open(BOOK / "start.html", scheme=scheme).evaluate(paper) for scheme in ("light", "dark")
    ]
    assert colors[0] == "rgb(255, 255, 255)"
    assert colors[0] != colors[1]


def test_the_search_finds_without_a_network(browser):
    page = browser.open(BOOK / "start.html")
    page.click(".md-search__input")
    for key in "wheel":
        page.press(key)
    found = ""
    until = time.monotonic() + 30
    while "matching document" not in found and time.monotonic() < until:
        found = page.evaluate("document.querySelector('.md-search-result').innerText")
        time.sleep(0.05)
    assert "matching document" in found
    assert "Installing" in found
    assert page.complaints == []
