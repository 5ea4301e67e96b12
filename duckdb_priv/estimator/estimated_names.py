"""The names and the error messages of the schema ``estimated`` in a release file."""

from __future__ import annotations

from duckdb_priv.sqltext.moments import MOMENTS
from duckdb_priv.sqltext.numbers import KNOWN_OF_NUMBERS

SCHEMA = "estimated"
WEIGHT, ROW = '"current_role"', '"current_user"'
"""Columns of the view: the weight of a row, and the struct from which errors are computed. Their names are also SQL
values, so macros can refer to them."""
ROW_TYPE = (
    "STRUCT(cell BIGINT, x BIGINT, w DOUBLE, records DOUBLE, squares DOUBLE, units DOUBLE, largest DOUBLE,"
    " sampled DOUBLE, attribute INTEGER, factors STRUCT(most DOUBLE, least DOUBLE, mean DOUBLE, square DOUBLE)[])"
)
SUMS = {"count_star": "", "count": "x", "count_if": "x", "sum": "x", "avg": "x"}
"""Aggregates that return estimates, with their arguments."""
QUANTILES = {"median": "x", "quantile_cont": "x, q", "quantile_disc": "x, q", "quantile": "x, q"}
"""Aggregates that return estimated quantiles, with their arguments."""
OTHER_NAMES = {"countif": "count_if", "mean": "avg"}
ENDS = ("stderr", "low", "high")
"""Suffixes of the macros for errors: ``sum_low(x)`` is the lower end of ``sum(x)``, ``count_low()`` of ``count(*)``."""
COUNTS = (
    *SUMS,
    *OTHER_NAMES,
    *(f"{each}_{end}" for each in SUMS if each != "count_star" for end in ENDS),
    *MOMENTS,
    *QUANTILES,
)
"""All macros of the schema."""
NOT_SUMS = """
    approx_count_distinct approx_quantile approx_top_k arbitrary arg_max arg_max_null
    arg_max_nulls_last arg_min arg_min_null arg_min_nulls_last argmax argmin array_agg avg_distinct
    bit_and bit_or bit_xor bitstring_agg combine_aggr count_distinct decimal_average entropy favg
    first fsum geomean geometric_mean group_concat histogram histogram_exact kahan_sum kurtosis
    kurtosis_pop last list listagg lttb mad max_by min_by mode percentile_cont percentile_disc
    product reservoir_quantile sem skewness string_agg sum_no_overflow sumkahan
    variant_group_object wavg weighted_avg
"""
OTHERS = NOT_SUMS.split()
"""Aggregates of DuckDB that are not sums over records."""
DECOMPOSED = ["min", "max", "any_value", "bool_or", "bool_and"]
"""Aggregates that do not depend on how often a row occurs: for public columns they are exact."""
RANDOM = ["random", "uuid", "uuidv4", "uuidv7", "gen_random_uuid", "nextval", "currval", "setseed"]
"""Functions that can select rows at random."""

MESSAGES = {
    "unweighed": "errors are known of estimates over {release} only",
    "unseen": "{release} in the schema estimated is asked by a statement that names it, not through another view, a"
    " macro, query() or query_table(); write the query itself",
    "stored": "a view or macro of yours would read {release} where no statement names it; write the query itself, or"
    " CREATE TABLE ... AS SELECT ..., count(*)",
    "weight": "current_role and current_user are the weights of {release} in the schema estimated, which its aggregates"
    " sum; leave them out",
    "rows": "rows of {release} in the schema estimated are not real records; write SELECT ..., count(*), and put"
    " conditions into WHERE",
    "handed": "a subquery that hands rows of {release} on must do so by SELECT *; count in the subquery, or write *, or"
    " SELECT name.* and other columns",
    "other": "beside {release} in the schema estimated, nothing else can be aggregated within its SELECT; count other"
    " tables in a WITH, or in a statement of their own",
    "set": "rows of {release} cannot be put together with others before they are counted; write count(*) in each part",
    "twice": "{release} in the schema estimated cannot be joined with itself; count it twice, and join the counts",
    "join": "{release} in the schema estimated can be joined by JOIN and, where it is on the left, by LEFT JOIN only",
    "over": "an aggregate with OVER would add up rows of groups, not records; count by groups in a subquery, and write"
    " system.main.sum(n) OVER (...) of the counts, or divide by (SELECT count(*) FROM {release})",
    "filter": "an estimate takes no FILTER; write count_if(condition), sum(CASE WHEN condition THEN x END) or"
    " avg(CASE WHEN condition THEN x END)",
    "ordered": "an estimate takes no ORDER BY: a sum is the same in any order; leave it out, and write quantiles as"
    " quantile_cont(x, 0.5) or quantile_disc(x, 0.5)",
    "distinct": "an estimate takes no DISTINCT: every value is shown somewhere; GROUP BY it, and look at which counts"
    " are clearly above zero",
    "numbers": f"{KNOWN_OF_NUMBERS}; for another table, say system.main.avg(x)",
    "between": "a quantile between two values is known of numbers alone; write quantile_disc(x, 0.5)",
    "whose": "count_stderr(), count_low() and count_high() belong to count(*); write count_if_low(x), sum_low(x),"
    " avg_low(x) and so on for another aggregate",
    "chosen": "DISTINCT, GROUP BY without count(*), LIMIT, samples, random(), COLUMNS() and windows choose rows of"
    " {release} before they are counted; put them after the aggregate",
    "public": "min, max, any_value, bool_or and bool_and are known for public columns of all records alone; write"
    " count(*), GROUP BY the value, and look at which counts are clearly above zero",
    "pivoted": "a PIVOT in the schema estimated needs a list of values, and DuckDB's own aggregate: PIVOT (SELECT ...,"
    " count(*) AS n FROM {release} GROUP BY ALL) ON disease IN ('flu', 'none') USING system.main.sum(n)",
    "squares": "an aggregate that squares counts of groups squares their noise as well; take the error off:"
    " sum(n * n - e * e) FROM (SELECT ..., count(*) AS n, count_stderr() AS e ...)",
    "selected": "a total of groups that are chosen by their estimates is wrong: those with the largest noise are"
    " chosen; count all groups at once, or choose groups by public columns",
    "extreme": "the largest or smallest of many estimates is that of the group with the largest noise; sort the"
    " groups instead: SELECT ..., count(*) AS n, count_low(), count_high() FROM {release} GROUP BY ALL ORDER BY n",
    "unread": "{release} in the schema estimated is asked by SELECT, CREATE TABLE ... AS SELECT, INSERT INTO ..."
    " SELECT, COPY (SELECT ...) TO, EXPLAIN and PREPARE; write one of these",
    "elsewhere": "{release} in the schema estimated is asked after USE estimated, or USE name.estimated for an"
    " attached file: a count would count its rows otherwise",
    "collated": "under default_collation, different values of {release} are equal; say RESET default_collation",
    "shadowed": "this version of DuckDB does not call the aggregates of the schema estimated; ask"
    " priv.reconstructed_count, or use duckdb_priv.reconstruct",
    "unnamed": "a column is read that the statement does not name: name it; and RESET disabled_optimizers",
    "sums": "this aggregate is no sum over records, and would be wrong over weighted ones; write count, count_if, sum"
    " or avg, or say USE main",
    "qualified": "an aggregate of another schema sums rows and not records; write it without its schema",
    "silent": "a value that is asked for is in every decoy group, so what is published says nothing of it but bounds;"
    " leave it out, and ask priv.reconstructed_interval for the bounds",
    "form": "records of {release} have no weights that could be summed; ask priv.reconstructed_count or"
    " priv.reconstructed_distribution",
}
"""Error messages by name: what is refused and what to write instead. ``{release}`` is the name of the view."""
