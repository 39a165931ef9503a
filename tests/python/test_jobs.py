"""How the tests with an MPI watch a running job."""

import os
import sys

from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests" / "mpi"))

from jobs import Job

LINES = 20000


def test_what_a_job_prints_while_it_is_read_is_all_there():
    program = f"import os\nfor i in range({LINES}): os.write(1, f'line {{i}}\\n'.encode())"
    job = Job([sys.executable, "-c", program], dict(os.environ))
    while job.process.poll() is None:
        job.text()
    outcome = job.wait(60)
    assert outcome.text.splitlines() == [f"line {i}" for i in range(LINES)]


def test_a_line_is_waited_for_until_the_job_ends():
    job = Job(["sh", "-c", "echo PID 1 17; read line; true"], dict(os.environ))
    assert job.wait_for(r"^PID 1 (\d+)$").group(1) == "17"
    assert job.wait_for("^no such line$") is None
    assert job.wait(60).status == 0
