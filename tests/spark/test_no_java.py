"""What Spark's users read on a machine without Java, with PySpark as it is: no Java is needed to run this."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from clients import installation

ROOT = Path(__file__).parents[2]
OURS = "Spark needs Java 17 or newer: install it, and set JAVA_HOME"
PROGRAM = [str(ROOT / "docs" / "spark.py")]
SESSION = ["-c", "from pyspark.sql import SparkSession; SparkSession.builder.getOrCreate()"]


@pytest.fixture
def packages() -> str:
    """The folder with PySpark, empty if it is installed here."""
    if find_spec("pyspark"):
        return ""
    try:
        return str(installation.spark())
    except installation.Missing as reason:
        pytest.skip(f"PySpark cannot be installed here: {reason}")


@pytest.mark.parametrize(
    ("program", "missing", "says"),
    [(PROGRAM, "PATH", OURS), (PROGRAM, "JAVA_HOME", OURS), (SESSION, "JAVA_HOME", "JAVA_GATEWAY_EXITED")],
    ids=["no program called java", "no Java in JAVA_HOME", "PySpark itself"],
)  # fmt: skip
def test_no_java_is_one_sentence(
    packages: str, tmp_path: Path, program: list[str], missing: str, says: str
) -> None:
    """The last is what the page on Spark lists as PySpark's own message."""
    environ = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    environ |= {"PYTHONPATH": f"{packages}{os.pathsep}{ROOT}", missing: str(tmp_path)}
    done = subprocess.run(
        [sys.executable, *program], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert done.returncode == 1
    assert says in done.stderr
    assert says != OURS or done.stderr.strip() == OURS
    assert list(tmp_path.iterdir()) == []
