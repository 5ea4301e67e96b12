"""Accounts for an operator with dp-accounting: epsilon of one look, and of two. Job and results are JSON."""

import json
import math
import sys
from itertools import combinations

from dp_accounting.pld import privacy_loss_distribution as pld

job = json.load(sys.stdin)
logs = [
    {shown: math.log(chance) for shown, chance in enumerate(column)} for column in job["operator"]
]
losses = [
    pld.from_two_probability_mass_functions(one, other, value_discretization_interval=1e-3)
    for one, other in combinations(logs, 2)
]
json.dump(
    {
        "one": max(loss.get_epsilon_for_delta(0) for loss in losses),
        "two": max(loss.self_compose(2).get_epsilon_for_delta(1e-6) for loss in losses),
    },
    sys.stdout,
)
