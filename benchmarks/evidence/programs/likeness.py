"""Compares tables with sdmetrics: 1 less the distance of total variation. A job comes, and results go, as JSON."""

import json
import sys
import warnings

import pandas as pd
from sdmetrics.column_pairs import ContingencySimilarity
from sdmetrics.single_column import TVComplement

warnings.simplefilter("ignore")
job = json.load(sys.stdin)
source, *tables = (
    pd.read_csv(job[name], dtype=str, keep_default_na=False)
    for name in ("source", "release", "rebuilt")
)
secret, by = job["secret"], job["public"][-1]
json.dump(
    {
        name: {
            "alone": TVComplement.compute(source[secret], table[secret]),
            "pair": ContingencySimilarity.compute(source[[by, secret]], table[[by, secret]]),
        }
        for name, table in zip(("release", "rebuilt"), tables, strict=True)
    },
    sys.stdout,
)
