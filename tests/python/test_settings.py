"""The settings table and its page."""

import json

from tutti.settings import Setting, built_settings, page, parse_page

ROWS = [
    Setting("ALGORITHM", "string", "", "Which, e.g. bcast:xhc."),
    Setting("WAIT", "auto|spin", "auto", "How a rank waits."),
]


def test_page_can_be_read_back():
    assert parse_page(page(ROWS)) == ROWS


def test_info_shows_what_the_library_has(tutti):
    done = tutti("info", "--json")
    facts = json.loads(done.stdout)
    names = [row["name"] for row in facts["settings"]]
    assert "TUTTI_ALGORITHM" in names
    built = built_settings()
    if built:
        assert names == ["TUTTI_" + row.name for row in built]
    assert set(facts["libraries"]) == {"mpich", "openmpi", "abi"}


def test_info_for_people_names_each_setting(tutti):
    done = tutti("info", env=None)
    assert done.returncode == 0
    assert "TUTTI_ALGORITHM" in done.stdout


def test_version(tutti):
    done = tutti("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("tutti ")
