"""mpi4py's source package, which has its tests."""

import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Dict

VERSION = "4.1.2"
FOLDER = Path(__file__).resolve().parents[2] / ".venv" / "mpi4py"


def pip(*words: str, environment: Dict[str, str]) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *words],
        check=True,
        env=environment,
        stdin=subprocess.DEVNULL,
    )


def source(version: str = VERSION, into: Path = FOLDER) -> Path:
    """The unpacked source package, fetched if it is not there."""
    folder = into / f"mpi4py-{version}"
    if not folder.is_dir():
        into.mkdir(parents=True, exist_ok=True)
        pip(
            *("download", "--no-deps", "--no-binary", "mpi4py", "--dest", str(into), f"mpi4py=={version}"),
            environment=dict(os.environ),
        )
        with tarfile.open(into / f"mpi4py-{version}.tar.gz") as archive:
            archive.extractall(into)
    return folder
