"""Everything in the folder ``inside`` passes in a process that has PySpark, which other tests do without."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from clients import installation

ROOT = Path(__file__).parents[2]
JAVA = 17
"""The oldest Java that runs Spark 4."""
ARCHIVE = "classes.jsa"
TRAINING = ("test_connect.py", "test_stores.py")
"""Files of tests that load most classes that the others load."""


def java() -> str:
    """Return the version of Java on this machine, an empty text where there is none."""
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if program is None:
        return ""
    reported = subprocess.run(
        [program, "-version"], capture_output=True, text=True, check=False
    ).stderr
    return reported.split('"')[1] if '"' in reported else ""


def passing(packages: Path, options: str, *files: str) -> subprocess.CompletedProcess[str]:
    """Run the tests inside, or some files of them, with options of Java."""
    environ = {
        **os.environ, "PYTHONPATH": f"{packages}{os.pathsep}{ROOT}", "SPARK_SUBMIT_OPTS": options
    }  # fmt: skip
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-n", "0"]
    folder = Path(__file__).parent / "inside"
    return subprocess.run(
        [*command, *(str(folder / file) for file in files or [""])],
        cwd=ROOT, env=environ, capture_output=True, text=True, check=False,
    )  # fmt: skip


def classes(packages: Path, version: str) -> Path:
    """Return an archive of the classes that Java loads for Spark: with it, a session starts in half of the time.

    Java writes it at the end of some tests, once per machine, and ignores one that does not fit.
    """

    def install(folder: Path) -> None:
        folder.mkdir()
        passing(packages, f"-XX:ArchiveClassesAtExit={folder / ARCHIVE}", *TRAINING)

    return installation.once("spark-classes", (str(packages), version), install) / ARCHIVE


@pytest.mark.skipif(find_spec("pyspark") is not None, reason="they run in this process")
def test_the_tests_of_spark_pass() -> None:
    version = java()
    if int(version.split(".")[0] or 0) < JAVA:
        pytest.skip(f"Spark needs Java {JAVA}, and this machine has {version or 'none'}")
    try:
        packages = installation.spark()
    except installation.Missing as reason:
        pytest.skip(f"PySpark cannot be installed here: {reason}")
    done = passing(packages, f"-XX:SharedArchiveFile={classes(packages, version)}")
    print(done.stdout[-10_000:])
    assert done.returncode == 0, done.stdout[-3_000:]
