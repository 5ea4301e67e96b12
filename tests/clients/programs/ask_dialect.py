"""Asks a release through its own dialect, in expressions and as a pandas frame: python ask_dialect.py FILE.

Writes flu by ward, the same as a frame reads it with intervals, the columns of the table, and a refusal.
"""

from __future__ import annotations

import json
import sys

import pandas
import sqlalchemy
from sqlalchemy.dialects import registry

for name in ("duckdb_priv", "duckdb.priv"):
    registry.register(name, "duckdb_priv.ordinary.dialect", "Dialect")

engine = sqlalchemy.create_engine(f"duckdb_priv:///{sys.argv[1]}")
uniform = sqlalchemy.Table("uniform", sqlalchemy.MetaData(), autoload_with=engine)
count = sqlalchemy.func.count().label("flu")
by_ward = (
    sqlalchemy.select(uniform.c.ward, count)
    .where(uniform.c.disease == "flu", uniform.c.age > 30)
    .group_by(uniform.c.ward)
    .order_by(uniform.c.ward)
)
with engine.connect() as connection:
    rows = [list(row) for row in connection.execute(by_ward)]
    unchanged = connection.execute(sqlalchemy.text("SELECT count(*) FROM uniform")).scalar()
    try:
        connection.execute(by_ward.where(uniform.c.disease == "Flu"))
        refusal = ""
    except Exception as error:
        refusal = f"{type(error).__name__}: {error}"
engine.dispose()

with sqlalchemy.create_engine(f"duckdb_priv:///{sys.argv[1]}").connect() as connection:
    try:
        connection.exec_driver_sql(f"SELECT content FROM read_text('{__file__}')").fetchall()
        confined = ""
    except Exception as error:
        confined = f"{type(error).__name__}: {error}"

beside = sqlalchemy.create_engine(f"duckdb+priv:///{sys.argv[1]}?intervals=true&confidence=0.9")
with beside.connect() as connection:
    frame = pandas.read_sql(
        sqlalchemy.text(str(by_ward.compile(beside, compile_kwargs={"literal_binds": True}))),
        connection,
    )
beside.dispose()
found = [
    rows,
    json.loads(frame.to_json(orient="split")),
    list(uniform.c.keys()),
    unchanged,
    refusal,
    confined,
]
print(json.dumps(found))
