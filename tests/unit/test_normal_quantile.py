"""The normal quantile in SQL, against scipy's."""

import duckdb
import numpy as np
import pytest
from scipy.special import ndtri

from duckdb_priv.estimator import distribution
from duckdb_priv.sqltext.templates import body, fill, read

CENTRAL = np.linspace(0.0005, 0.9995, 1999)
EXTREME = np.concatenate([1 - np.logspace(-16, -3, 131), np.logspace(-12, -3, 91)])
USUAL = [0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 0.85 - 1e-12, 0.85, 0.85 + 1e-12]


@pytest.mark.parametrize(
    "confidence", [CENTRAL, EXTREME, USUAL], ids=["central", "extreme", "usual"]
)
def test_it_is_the_quantile_of_scipy(confidence):
    """Relative to the distance from the middle; both tails of a confidence are half of what is left."""
    expression = fill(body(read("analyst/fragments", "normal_quantile")), {"confidence": "c"})
    with duckdb.connect() as connection:
        values = connection.execute(
            f"SELECT {expression} FROM (SELECT unnest(?::DOUBLE[]) AS c)", [list(confidence)]
        ).fetchall()
    found = np.array(values)[:, 0]
    half = np.asarray(confidence) / 2
    assert found == pytest.approx(-ndtri(0.5 - half), rel=1e-14, abs=1e-15)


def test_the_number_for_a_usual_confidence_is_what_the_formula_gives():
    expression = fill(body(read("analyst/fragments", "normal_quantile")), {"confidence": "c"})
    with duckdb.connect() as connection:
        for confidence, z in distribution.USUAL.items():
            ((found,),) = connection.execute(
                f"SELECT {expression} FROM (SELECT {confidence} AS c)"
            ).fetchall()
            assert found == pytest.approx(z, rel=1e-14)
