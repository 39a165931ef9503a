"""The page of `tutti profile` in a browser: read, zoomed, pointed at."""

import sys
from pathlib import Path

import pytest
from page_checks import check_page

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "python")]

from made_profiles import record, row  # noqa: E402

from tutti.profile.command import convert  # noqa: E402

KINDS = ("MPI_Allreduce", "MPI_Bcast", "MPI_Alltoall_with_a_name_that_is_longer_than_those_of_MPI")


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of four ranks, and more kinds of calls than are open from the beginning: one of 8 ms in each 10."""
    rows = [row(KINDS[at % 3], size_class=at) for at in range(25)]
    calls = [[(at % 25, 10 * at + rank / 2, 10 * at + 8, at, 0) for at in range(90)] for rank in range(4)]
    folder = tmp_path_factory.mktemp("profile")
    convert(record(folder / "app.profile", calls, rows, ranks=4), folder / "app.html", None, False)
    return folder / "app.html"


def test_a_profile_has_no_problems_in_any_window(browser, profile, tmp_path):
    assert check_page(profile, tmp_path, browser=browser) == []


def test_the_timeline_is_zoomed_by_keyboard_and_buttons(browser, profile):
    page = browser.open(profile)
    told = "document.getElementById('pointed').textContent"
    page.evaluate("document.querySelector('#timeline canvas').focus()")
    for key, shown in (("+", "250 ms to 750 ms"), ("ArrowRight", "500 ms to 1 s"), ("0", "0 ns to 1 s")):
        page.press(key)
        assert page.evaluate(told) == shown
    page.click("#timeline [data-do=in]")
    assert page.evaluate(told) == "250 ms to 750 ms"
    page.close()


def test_what_is_pointed_at_is_told(browser, profile):
    page = browser.open(profile)
    page.evaluate("document.querySelector('#timeline canvas').scrollIntoView()")
    # In the middle of the run is a call, or the pause after it.
    page.move_to("#timeline canvas")
    told = page.evaluate("document.getElementById('pointed').textContent")
    assert "rank 2" in told
    page.close()
