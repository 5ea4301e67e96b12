"""Attacks a release with anonymeter: singling out, linkability, inference. A job comes, and results go, as JSON."""

import json
import sys
import warnings

import numpy as np
import pandas as pd
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator

warnings.simplefilter("ignore")
job = json.load(sys.stdin)
source, control, release = (
    pd.read_csv(job[name], dtype=str, keep_default_na=False)
    for name in ("source", "control", "release")
)
public, secret, attacks = job["public"], job["secret"], job["attacks"]
np.random.seed(1)
# Conditions that fit one row are looked for so often, and in vain where every row has equals.
ATTEMPTS = 20_000
given = {"ori": source, "syn": release, "control": control, "n_attacks": attacks}
singling = SinglingOutEvaluator(
    **given, n_cols=len(public) + 1, max_attempts=ATTEMPTS, seed=1
).evaluate("multivariate")
linking = LinkabilityEvaluator(**given, aux_cols=([*public[:-1]], [public[-1], secret]))
inferring = InferenceEvaluator(**given, aux_cols=public, secret=secret)
found = {}
for name, evaluator in {
    "singling out": singling,
    "linkability": linking.evaluate(n_jobs=1),
    "inference": inferring.evaluate(n_jobs=1),
}.items():
    results = evaluator.results(confidence_level=0.95)
    risk = results.risk()
    found[name] = {
        "attack": results.attack_rate.value,
        "control": results.control_rate.value,
        "risk": risk.value,
        "low": risk.ci[0],
        "high": risk.ci[1],
    }
json.dump(found, sys.stdout)
