"""Jobs of MPI programs: what they print and how they end."""

import os
import re
import signal
import subprocess
import tempfile
import time

#: By this times longer a job may take, where processors are emulated.
PATIENCE = float(os.environ.get("TUTTI_TEST_PATIENCE", "1"))
#: How a message of the library begins; the launcher may have put the rank before it.
TUTTI_LINE = r"^(?:\[\S+\]\s*)?tutti(?:\[\d+\])?:"


class Outcome:
    """What a job said and how it ended."""

    def __init__(self, status, text, timed_out):
        self.status = status
        self.text = text
        self.timed_out = timed_out

    def why(self):
        """One line for a failure."""
        if self.timed_out:
            return "timed out"
        return f"exit status {self.status}"

    def tutti_lines(self):
        """The messages of the library."""
        return re.findall(rf"{TUTTI_LINE}.*", self.text, re.MULTILINE)


class Job:
    """A running job: its output goes to a file, so that nobody waits for a pipe that an orphan holds."""

    def __init__(self, command, environment):
        self.output = tempfile.TemporaryFile(mode="w+b")  # noqa: SIM115 - closed with the object
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self.output,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )

    def text(self):
        """All that the job has printed so far."""
        # The job writes where the file stands, which is the same place for both: it must not be moved.
        file = self.output.fileno()
        return os.pread(file, os.fstat(file).st_size, 0).decode(errors="replace")

    def wait_for(self, pattern, seconds=60):
        """Waits until a line matches. Returns the match, or None if the job or the time ends before."""
        deadline = time.time() + PATIENCE * seconds
        while True:
            ended = self.process.poll() is not None
            found = re.search(pattern, self.text(), re.MULTILINE)
            if found or ended or time.time() > deadline:
                return found
            time.sleep(0.02)

    def wait(self, seconds):
        """Waits for the end, or ends the job after that time."""
        try:
            status = self.process.wait(timeout=PATIENCE * seconds)
            return Outcome(status, self.text(), False)
        except subprocess.TimeoutExpired:
            self.kill()
            return Outcome(-1, self.text(), True)

    def kill(self):
        """Ends the launcher, politely first so that it ends its ranks."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, number)
            except ProcessLookupError:
                return
            try:
                self.process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                continue
