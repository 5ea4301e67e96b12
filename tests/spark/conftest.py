"""Tests of Spark run where PySpark is: here, or in a process of their own (test_inside.py)."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore = ["workers.py", *([] if find_spec("pyspark") else ["inside", "connected.py"])]
