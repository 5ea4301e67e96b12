"""Asks releases in the dashboard beside this file, which Streamlit's own tester runs as its server would.

Jobs and replies are those of ask_python.py.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest


def reply(job: dict[str, Any]) -> dict[str, Any]:
    sys.argv = ["dashboard.py", job["path"]]
    page = AppTest.from_file(str(Path(__file__).with_name("dashboard.py")), default_timeout=600)
    answers = []
    page.run()
    for question in job["questions"]:
        if page.error:
            break
        start = time.perf_counter()
        page.text_area[0].set_value("; ".join([*job["setup"], question])).run()
        seconds = time.perf_counter() - start
        if not page.error:
            frame = page.dataframe[0].value.astype(object)
            rows = frame.where(frame.notna(), None).to_numpy().tolist()
            answers.append({"rows": rows, "seconds": seconds})
    assert not page.exception, page.exception[0].message
    return {"error": page.error[0].value} if page.error else {"answers": answers}


if __name__ == "__main__":
    print(json.dumps([reply(job) for job in json.load(sys.stdin)]))
