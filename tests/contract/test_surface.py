"""The surface is a list: what is installed, how it is called, and that each name explains itself."""

from __future__ import annotations

import re

import duckdb
import pytest

import duckdb_priv
from duckdb_priv.release import catalog
from duckdb_priv.sqltext import templates

FUNCTIONS = {
    "_priv_ask",
    "_priv_begin",
    "_priv_bits",
    "_priv_block",
    "_priv_calculate",
    "_priv_random_bits",
    "_priv_counted_groups",
    "_priv_decoy",
    "_priv_finish",
    "_priv_instance",
    "_priv_integer_bits",
    "_priv_integer_random_bits",
    "_priv_laplace_count",
    "_priv_new_secret",
    "_priv_perturbed_groups",
}
"""What Python does. Nobody but our own macros calls these."""

COMMON = (
    " record_id population exclude public person max_rows title description contact licence labels republish"
    " replace"
)
"""What every publication takes."""
CHECK = (
    "source sensitive record_id exclude public person domain retention epsilon rho1 rho2 certainty"
    " details"
)

PUBLISHER = {
    "advise": (
        "source sensitive rho1 rho2 epsilon delta max_error retentions epsilons tolerances reconstruction_epsilons"
        " reconstruction_deltas gammas hierarchies levels ks betas questions bins low high clip workload queries"
        " max_public_attributes min_selectivity selectivity small_counts seed record_id exclude public person max_rows"
    ),
    "aggregate_utility": "source release",
    "amplification_gamma": "rho1 rho2",
    "amplified_delta": "delta beta",
    "amplified_epsilon": "epsilon beta",
    "audit": "release",
    "budget": "population epsilon delta",
    "check_source": CHECK,
    "compare": "release older",
    "date_hierarchy": "attribute low high parts",
    "derive": "release coarser retention epsilon replace",
    "drop_release": "release",
    "evaluate": "source release workload queries seed hierarchies method confidence",
    "evaluation_summary": (
        "source release workload queries seed small_counts hierarchies method confidence"
    ),
    "exact_large_sum_threshold": "gamma epsilon error_probability",
    "expected_error": "source release questions hierarchies",
    "export_release": "release path format card metadata dialects sign key_file",
    "fine_grain_plan": (
        "source sensitive requirements tolerance direction min_retention domain frequencies frequency_epsilon"
    ),
    "laplace_count": "n epsilon population",
    "large_sum_threshold": "gamma epsilon error_probability",
    "ldp_epsilon": "retention m",
    "ledger": "slack details",
    "load_hierarchy": "attribute path delimiter",
    "lower_tail_bound": "frequency m retention epsilon group_size bound",
    "max_retention": "rho1 rho2 m",
    "micro_groups": "source sensitive retention epsilon delta bound record_id exclude domain_size",
    "propose_hierarchies": "source exclude folder",
    "publications": "",
    "publish_anatomy": "source release sensitive l" + COMMON,
    "publish_block_design": "source release sensitive epsilon rho1 rho2 domain" + COMMON,
    "publish_distribution": "source release sensitive" + COMMON,
    "publish_fine_grain": (
        "source release sensitive requirements tolerance direction min_retention domain frequencies"
        " frequency_epsilon" + COMMON
    ),
    "publish_for_questions": (
        "source release sensitive questions bins low high epsilon rho1 rho2 rounding clip" + COMMON
    ),
    "publish_matrix": "source release sensitive matrix" + COMMON,
    "publish_reconstruction_private": (
        "source release sensitive retention ldp_epsilon epsilon delta bound max_frequency sampling domain"
        + COMMON
    ),
    "publish_safe_k": ("source release k beta epsilon hierarchies levels epsilon1" + COMMON),
    "publish_shuffled": ("source release sensitive epsilon delta domain" + COMMON),
    "publish_splu": ("source release sensitive gamma grouping append" + COMMON),
    "publish_uniform": ("source release sensitive retention epsilon rho1 rho2 domain" + COMMON),
    "range_hierarchy": "attribute width1 width2 width3 width4 width5 low high",
    "ratio_attack": "source sensitive epsilon_dp epsilon delta top min_size record_id exclude",
    "reconstruction_risk": (
        "source sensitive retention epsilon delta bound record_id exclude domain_size"
    ),
    "reconstruction_threshold": "max_frequency m retention epsilon delta bound",
    "record_utility": "release",
    "refresh": "release",
    "registry": "release",
    "rotate_secret": "",
    "sampling_delta": "k beta epsilon",
    "sampling_epsilon": "k beta delta",
    "sampling_k": "beta epsilon delta",
    "shuffled_epsilon": "retention domain_size group_size delta",
    "shuffled_retention": "epsilon delta domain_size group_size",
    "small_sum_privacy": "gamma epsilon alpha",
    "upper_tail_bound": "frequency m retention epsilon group_size bound",
    "withdraw": "id population kind",
    "workload": (
        "source sensitive queries max_public_attributes min_selectivity selectivity"
        " small_counts seed record_id exclude"
    ),
}
"""By name of a macro: its parameters, in order."""

ANALYST = {
    "reconstructed_change": "_release older group_columns condition confidence database",
    "reconstructed_count": "_release _column _value weight",
    "reconstructed_difference": "_release _column _values _other_values weight confidence",
    "reconstructed_distribution": (
        "_release group_columns condition weight method confidence simultaneous ranks database"
    ),
    "reconstructed_group_difference": (
        "_release _column _values _group _other_group weight confidence"
    ),
    "reconstructed_group_ratio": "_release _column _values _group _other_group weight confidence",
    "reconstructed_interval": "_release _column _value weight confidence",
    "reconstructed_joint": "_release _attributes _values group_columns condition method tolerance confidence database",
    "reconstructed_list_interval": "_release _column _values weight confidence",
    "reconstructed_mean": "_release _column _values _amount weight confidence",
    "reconstructed_mle": "_release _column _value weight",
    "reconstructed_ratio": "_release _column _values _other_values weight confidence",
    "reconstructed_share": "_release _column _values weight confidence",
    "reconstructed_share_difference": (
        "_release _column _values _group _other_group weight confidence"
    ),
    "reconstructed_share_ratio": "_release _column _values _group _other_group weight confidence",
    "reconstructed_stderr": "_release _column _value weight",
    "reconstructed_sum": "_release _column _values _amount weight confidence",
    "smoothed_count": "_release _value group_columns condition weight confidence database",
    "weight": "_release _column _value weight",
}

MACROS = PUBLISHER | ANALYST
PRIVATE_TABLES = {
    "budget",
    "chosen_operator",
    "grouped_mark",
    "identity",
    "ledger",
    "mark",
    "migration",
    "noisy_count",
    "publication",
    "secret",
    "seen",
    "seen_column",
    "sampled_record",
    "shown_pair",
    "shown_record",
    "warning",
    "withdrawn",
}


@pytest.fixture(scope="module")
def con():
    with duckdb_priv.connect() as connection:
        yield connection


def functions(connection: duckdb.DuckDBPyConnection) -> set[tuple[str, str, str]]:
    return set(
        connection.execute(
            "SELECT schema_name, function_name, function_type FROM duckdb_functions()"
        ).fetchall()
    )


def test_install_adds_exactly_these_functions():
    with duckdb.connect() as connection:
        before = functions(connection)
        duckdb_priv.install(connection)
        added = functions(connection) - before
    assert {name for _, name, kind in added if kind == "scalar"} == FUNCTIONS
    macros = {(schema, name) for schema, name, kind in added if kind != "scalar"}
    # What the functions look releases up with is for nobody to call.
    assert {each for each in macros if not each[1].startswith("_")} == {
        ("priv", name) for name in MACROS
    }


def test_install_adds_exactly_these_tables(con):
    tables = con.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal"
    ).fetchall()
    assert set(tables) == {("priv", name) for name in {*catalog.PUBLIC, *PRIVATE_TABLES}}
    kinds = "SELECT view_name FROM duckdb_views() WHERE NOT internal"
    assert con.execute(kinds).fetchall() == []


@pytest.mark.parametrize("name", sorted(MACROS))
def test_every_macro_takes_these_arguments_and_has_a_comment(con, name):
    ((parameters, comment),) = con.execute(
        "SELECT parameters, comment FROM duckdb_functions()"
        " WHERE schema_name = 'priv' AND function_name = ?",
        [name],
    ).fetchall()
    assert " ".join(parameters) == MACROS[name]
    assert comment
    assert comment[0].isupper()
    assert comment.endswith(".")


@pytest.mark.parametrize("name", PUBLISHER)
def test_the_head_of_a_file_names_every_argument(con, name):
    ((parameters,),) = con.execute(
        "SELECT DISTINCT parameters FROM duckdb_functions() WHERE schema_name = 'priv' AND function_name = ?",
        [name],
    ).fetchall()
    signature = templates.read("publisher", name).split("->")[0]
    named = set(re.findall(r"[a-z_0-9]+", signature))
    # Arguments that a head counts up, as in width1 … width5.
    assert [
        each for each in parameters if each not in named and each.rstrip("0123456789") == each
    ] == []


def test_every_table_and_column_of_the_catalog_has_a_comment(con):
    silent = con.execute(
        "SELECT table_name, NULL FROM duckdb_tables()"
        " WHERE schema_name = 'priv' AND coalesce(comment, '') = '' UNION ALL"
        " SELECT table_name, column_name FROM duckdb_columns() WHERE schema_name = 'priv'"
        " AND table_name <> 'migration' AND coalesce(comment, '') = ''"
    ).fetchall()
    assert silent == []


def test_private_tables_say_that_they_are(con):
    comments = dict(
        con.execute(
            "SELECT table_name, comment FROM duckdb_tables() WHERE schema_name = 'priv'"
        ).fetchall()
    )
    private = {name for name, comment in comments.items() if comment.startswith("PRIVATE")}
    assert private == PRIVATE_TABLES - {"migration"}


def test_every_macro_has_a_file_of_its_own():
    assert set(templates.names("publisher")) == set(PUBLISHER)
    assert set(templates.names("analyst")) == set(ANALYST)


def test_a_wrong_call_shows_the_right_one(con):
    with pytest.raises(duckdb.BinderException, match=r"publish_uniform\(source, release"):
        con.execute("FROM priv.publish_uniform('visits')")


def test_the_package_offers_a_handful_of_names():
    assert sorted(duckdb_priv.__all__) == [
        "PrivError",
        "__version__",
        "connect",
        "install",
        "open_release",
        "reconstruct",
        "rewrite_sql",
        "verify",
    ]
    assert all(hasattr(duckdb_priv, name) for name in duckdb_priv.__all__)
