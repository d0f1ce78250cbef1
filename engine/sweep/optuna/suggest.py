"""Suggests the next values of a sweep with Optuna's TPE sampler.

Reads one JSON object from standard input: seed, goal ("max" or "min"), parameters (each a kind:
"categorical" with count, "int" or "float" with low, high, log), trials (each with state, values and
objective, and a step) and n. Writes the n suggestions as JSON: lists with one number for each
parameter, the index of a categorical one. There is no other state: the same input has the same output.
"""

import json
import sys

import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import TPESampler
from optuna.trial import TrialState, create_trial

STATES = {"complete": TrialState.COMPLETE, "pruned": TrialState.PRUNED, "running": TrialState.RUNNING}


def distribution(parameter):
    kind = parameter["kind"]
    if kind == "categorical":
        return CategoricalDistribution(list(range(parameter["count"])))
    if kind == "int":
        return IntDistribution(int(parameter["low"]), int(parameter["high"]), log=parameter["log"])
    return FloatDistribution(parameter["low"], parameter["high"], log=parameter["log"])


def trial(given, distributions):
    state = STATES[given["state"]]
    params = {
        name: value if isinstance(d, FloatDistribution) else int(value)
        for (name, d), value in zip(distributions.items(), given["values"], strict=True)
    }
    complete, pruned = state == TrialState.COMPLETE, state == TrialState.PRUNED
    return create_trial(
        state=state,
        params=params,
        distributions=distributions,
        value=given["objective"] if complete else None,
        intermediate_values={given["step"]: given["objective"]} if pruned else None,
    )


def main():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    request = json.load(sys.stdin)
    distributions = {str(i): distribution(p) for i, p in enumerate(request["parameters"])}
    sampler = TPESampler(seed=request["seed"], constant_liar=True, multivariate=True)
    study = optuna.create_study(sampler=sampler, direction="maximize" if request["goal"] == "max" else "minimize")
    study.add_trials([trial(t, distributions) for t in request["trials"]])
    suggestions = []
    for _ in range(request["n"]):
        next_trial = study.ask(distributions)
        suggestions.append([next_trial.params[name] for name in distributions])
    json.dump(suggestions, sys.stdout)


main()
