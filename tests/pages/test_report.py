"""The page of `tutti report` in a browser, out of files that the commands wrote: read, sorted, compared."""

import sys
from pathlib import Path

import pytest
from page_checks import check_page

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tutti.report import sources  # noqa: E402
from tutti.report.whole import whole_page  # noqa: E402

REPORTED = ROOT / "tests" / "python" / "reported"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With every part: a probe of sixteen cores has maps of all pairs."""
    names = ("bench", "table", "told", "simulation")
    files = [
        *(REPORTED / f"{name}.json" for name in names),
        ROOT / "bench" / "results" / "xeon-16-cores-probe.json",
    ]
    path = tmp_path_factory.mktemp("report") / "report.html"
    whole_page(sources.read(files), sources.read([REPORTED / "before.json"])).write(path)
    return path


def test_a_report_has_no_problems_in_any_window(browser, report, tmp_path):
    assert check_page(report, tmp_path, browser=browser) == []


def test_headers_sort_tables_by_mouse_and_keyboard(browser, report):
    page = browser.open(report)
    table = "document.querySelectorAll('#ran ~ .scroll table')[0]"
    head = f"{table}.tHead.rows[0].cells[7]"  # time
    column = f"Array.from({table}.tBodies[0].rows, row => Number(row.cells[7].dataset.value))"
    before = page.evaluate(column)
    assert len(before) > 3
    page.evaluate(f"{head}.firstChild.click()")
    assert page.evaluate(column) == sorted(before)
    assert page.evaluate(f"{head}.getAttribute('aria-sort')") == "ascending"
    page.evaluate(f"{head}.firstChild.focus()")
    page.press("Enter")
    assert page.evaluate(column) == sorted(before, reverse=True)
    assert page.evaluate(f"{head}.getAttribute('aria-sort')") == "descending"
    page.evaluate(f"{table}.tHead.rows[0].cells[0].firstChild.click()")
    assert page.evaluate(f"{head}.hasAttribute('aria-sort')") is False
    names = page.evaluate(f"Array.from({table}.tBodies[0].rows, row => row.cells[0].textContent)")
    assert names == sorted(names)
    page.close()


def test_everything_is_open_on_paper(browser, report):
    page = browser.open(report)
    assert page.evaluate("document.querySelectorAll('details:not([open])').length") > 0
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.querySelectorAll('details:not([open])').length") == 0
    page.close()
