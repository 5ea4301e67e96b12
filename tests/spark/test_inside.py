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


def java() -> int:
    """Return the version of Java on this machine, 0 where there is none."""
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if program is None:
        return 0
    reported = subprocess.run(
        [program, "-version"], capture_output=True, text=True, check=False
    ).stderr
    version = reported.split('"')[1] if '"' in reported else "0"
    return int(version.split(".")[0])


@pytest.mark.skipif(find_spec("pyspark") is not None, reason="they run in this process")
def test_the_tests_of_spark_pass() -> None:
    if java() < JAVA:
        pytest.skip(f"Spark needs Java {JAVA}, and this machine has {java() or 'none'}")
    try:
        packages = installation.spark()
    except installation.Missing as reason:
        pytest.skip(f"PySpark cannot be installed here: {reason}")
    environ = {**os.environ, "PYTHONPATH": f"{packages}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-n", "0"]
    done = subprocess.run(
        [*command, str(Path(__file__).parent / "inside")],
        cwd=ROOT, env=environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    print(done.stdout[-10_000:])
    assert done.returncode == 0, done.stdout[-3_000:]
