"""One browser for all tests of pages; without Chromium they are skipped."""

from typing import Iterator

import pytest
from browser import Browser, find_chromium


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if find_chromium() is None:
        pytest.skip("Chromium is not installed: ./dev setup --pages")
    with Browser() as started:
        yield started
