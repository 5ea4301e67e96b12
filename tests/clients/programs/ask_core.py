"""Asks a release in SQLAlchemy's expressions, without a word of SQL: python ask_core.py FILE.

Writes rows of flu by ward, the same as a pandas frame reads them, and the estimates by value.
"""

from __future__ import annotations

import json
import sys

import pandas
import sqlalchemy

uniform = sqlalchemy.table("uniform", *map(sqlalchemy.column, ("ward", "age", "noisy_disease")))
priv = sqlalchemy.func.priv
by_ward = (
    sqlalchemy.select(
        uniform.c.ward,
        priv.reconstructed_count("uniform", uniform.c.noisy_disease, "flu").label("flu"),
    )
    .where(uniform.c.age > 30)
    .group_by(uniform.c.ward)
    .order_by(uniform.c.ward)
)
by_value = priv.reconstructed_distribution("uniform").table_valued("value", "estimate")

engine = sqlalchemy.create_engine(f"duckdb:///{sys.argv[1]}", connect_args={"read_only": True})
with engine.connect() as connection:
    rows = [list(row) for row in connection.execute(by_ward)]
    frame = pandas.read_sql(by_ward, connection)
    values = [list(row) for row in connection.execute(sqlalchemy.select(by_value))]
engine.dispose()
print(json.dumps([rows, frame.to_numpy().tolist(), sorted(values, key=str)]))
