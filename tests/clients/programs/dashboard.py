"""A dashboard over a release: streamlit run dashboard.py -- visits_public.duckdb."""

import sys

import duckdb
import streamlit as st

MEASURES = ("value", "estimate", "low", "high", "stderr", "noisy_count")

st.title("Estimates from a release")
try:
    release = duckdb.connect(sys.argv[1], read_only=True)
    found = release.execute(
        "SELECT view_name FROM duckdb_views() WHERE comment LIKE 'ESTIMATES%' ORDER BY view_name DESC"
    ).fetchall()
    view = st.selectbox("View", [name for (name,) in found])
    estimates = release.table(f'"{view}"').to_arrow_table()
    by = next((name for name in estimates.column_names if name not in MEASURES), None)
    st.bar_chart(estimates, x="value", y="estimate", color=by, stack=False, height=260)
    question = st.text_area("Question in SQL", f'FROM "{view}"')
    st.dataframe(release.sql(question).to_arrow_table())
    release.close()
except duckdb.Error as error:
    st.error(str(error))
