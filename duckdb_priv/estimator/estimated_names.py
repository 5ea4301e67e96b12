"""What the schema ``estimated`` of a release file calls things, and what it says where it refuses."""

from __future__ import annotations

SCHEMA = "estimated"
WEIGHT, SPREAD = '"current_role"', '"current_user"'
"""Columns of the view that are values of SQL too, so that macros can name them: the weight of a row, and what the error
of a count is made of."""
SPREAD_TYPE = (
    "STRUCT(cell BIGINT, x BIGINT, w DOUBLE, records DOUBLE, squares DOUBLE, sampled DOUBLE)"
)
COUNTS = {
    "count_star": "", "count": "x", "count_if": "x", "countif": "x", "sum": "x", "avg": "x", "mean": "x",
    "count_stderr": "", "count_low": "", "count_high": "",
}  # fmt: skip
"""The aggregates that are estimates, with their arguments."""
ALIKE = {"countif": "count_if", "mean": "avg"}
"""Those that are others by another name."""
NOT_SUMS = """
    any_value approx_count_distinct approx_quantile approx_top_k arbitrary arg_max arg_max_null
    arg_max_nulls_last arg_min arg_min_null arg_min_nulls_last argmax argmin array_agg avg_distinct bit_and
    bit_or bit_xor bitstring_agg bool_and bool_or combine_aggr corr count_distinct covar_pop covar_samp
    decimal_average entropy favg first fsum geomean geometric_mean group_concat histogram histogram_exact
    kahan_sum kurtosis kurtosis_pop last list listagg lttb mad max max_by median min min_by mode
    percentile_cont percentile_disc product quantile quantile_cont quantile_disc regr_avgx regr_avgy
    regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy reservoir_quantile sem skewness
    stddev stddev_pop stddev_samp string_agg sum_no_overflow sumkahan var_pop var_samp variance
    variant_group_object wavg weighted_avg
"""
OTHERS = NOT_SUMS.split()
"""Aggregates that are no sums over records, or of which nobody has asked for one."""
KNOWN_VERSIONS = r"^v(1\.[2-5]|2\.0)\."
"""Versions of DuckDB that have no other aggregates; elsewhere the functions of DuckDB are looked through."""

CALLED = """
    abs all and any as between by case cast ceil ceiling coalesce concat contains cube date date_diff date_part
    date_trunc datediff datepart datetrunc day dayofweek decimal distinct else end epoch exists extract filter floor
    from greatest group having hour if ifnull in interval isodow join lateral least left length like ln log lower ltrim
    make_date materialized mod month not nullif numeric on or over pow power quarter recursive regexp_matches replace
    right rollup round rtrim select sets sign sqrt starts_with strftime strptime substr substring then time timestamp
    trim trunc try_cast upper using values varchar week when where year
"""
WELL_KNOWN = CALLED.split()
"""What may stand before a parenthesis without being looked for among the macros of the reader's."""
AFTER_A_TABLE = """
    where group having order limit join inner left cross on using union intersect except offset
"""
BESIDE_A_TABLE = AFTER_A_TABLE.split()
"""What may follow a table and is no alias of it."""

MESSAGES = {
    "unweighed": "in the schema estimated, aggregates are estimates over {release} and count nothing else; for other"
    " tables, counted queries and subqueries that do not SELECT *, say USE main, or write system.main.count(*)",
    "unseen": "{release} in the schema estimated is asked by a statement that names it, not through another view, a"
    " macro, query(), query_table() or EXECUTE; write the query itself",
    "through": "{release} in the schema estimated cannot be asked together with views and macros of your own, which"
    " may read it unseen; write what they do into the query",
    "hidden": "a temporary table or view of yours is called {release}, and would be counted in its place; drop it",
    "weight": "current_role and current_user are the weights of {release} in the schema estimated, which its aggregates"
    " sum; leave them out",
    "rows": "rows of {release} in the schema estimated stand for no single records; write SELECT ..., count(*), and"
    " put conditions into WHERE",
    "other": "in one statement with {release} of the schema estimated, nothing else can be aggregated; count other"
    " tables, and estimates, in a statement of their own",
    "set": "rows of {release} cannot be put together with others before they are counted; write count(*) in each part",
    "twice": "{release} in the schema estimated cannot be joined with itself; count it twice, and join the counts",
    "join": "{release} in the schema estimated can be joined by JOIN and, where it stands first, by LEFT JOIN only",
    "over": "windows before the aggregate choose rows by what others are; count by groups, and divide by"
    " (SELECT count(*) FROM {release})",
    "chosen": "DISTINCT, GROUP BY without count(*), LIMIT, samples, random(), COLUMNS() and windows choose rows of"
    " {release} before they are counted; put them after the aggregate",
    "text": "a text in dollar signs, or a comment within a comment, cannot be read; write it in single quotes",
    "new": "this version of DuckDB has an aggregate in this statement of which the schema estimated knows nothing;"
    " write count, count_if, sum or avg",
    "elsewhere": "{release} in the schema estimated is asked after USE estimated, or USE name.estimated for an"
    " attached file: a count would count its rows otherwise",
    "collated": "under default_collation, different values of {release} are equal; say RESET default_collation",
    "shadowed": "this version of DuckDB does not call the aggregates of the schema estimated; ask"
    " priv.reconstructed_count, or use duckdb_priv.reconstruct",
    "unnamed": "a column is read that the statement does not name: name it; and RESET disabled_optimizers",
    "sums": "this aggregate is no sum over records, and would be wrong over weighted ones; write count, count_if, sum"
    " or avg, or say USE main",
    "qualified": "an aggregate of another schema sums rows and not records; write it without its schema",
    "form": "records of {release} have no weights that could be summed; ask priv.reconstructed_count or"
    " priv.reconstructed_distribution",
}
"""By name: what is refused, and what to write instead. ``{release}`` is the name of the view."""
