"""The faults that tests/simulated/mutations.py plants fit the sources. `./dev test --all` shows that they are found."""

import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests" / "simulated"))

import mutations


@pytest.mark.parametrize("fault", mutations.FAULTS, ids=lambda fault: fault.words)
def test_a_fault_has_one_place(fault):
    text = mutations.text_of(fault, ROOT)
    assert text != text.replace(fault.old, fault.new)


def test_a_fault_that_does_not_fit_is_refused(tmp_path):
    (tmp_path / "file.cpp").write_text("one(); one();")
    for old in ("one();", "two();"):
        with pytest.raises(ValueError, match="not one place"):
            mutations.text_of(mutations.Fault("twice or never", "file.cpp", old, ""), tmp_path)
