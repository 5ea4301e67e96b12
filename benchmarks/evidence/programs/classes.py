"""Measures a release with pycanon: k, l and t of its equivalence classes. A job comes, and results go, as JSON."""

import json
import sys

import pandas as pd
from pycanon import anonymity

job = json.load(sys.stdin)
release = pd.read_csv(job["release"], dtype=str, keep_default_na=False)
public, secret = job["public"], [job["secret"]]
json.dump(
    {
        "k": int(anonymity.k_anonymity(release, public)),
        "l": int(anonymity.l_diversity(release, public, secret)),
        "t": float(anonymity.t_closeness(release, public, secret)),
    },
    sys.stdout,
)
