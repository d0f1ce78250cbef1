"""Options of inputs in the definition of a workflow."""

from __future__ import annotations

import dataclasses
import unittest
from typing import Annotated, Any, List, Optional

import pytest

from flowforge import Cache, DefinitionError, Lock, Option, Options, Retry, RetryBudget, operator, workflow


@dataclasses.dataclass
class Pair:
    metric: Annotated[str, Options("gini", "entropy")] = "gini"


@operator
def fit(kernel: str, seeds: List[int], model: Optional[str], pair: Pair) -> str:
    return kernel


@workflow(name="sdk.options")
def offered(
    kernel: Annotated[str, Options("rbf", Option("linear", label="Linear", description="Few rows"))] = "rbf",
    seeds: Annotated[List[int], Options(from_="executions", where="inputs.kernel = {{kernel}}", value="inputs.seeds", free=True)] = [1],
    model: Annotated[Optional[str], Options(http="https://models.example.com/?q={{query}}", items=".data", value=".id", preview=(".size",), timeout="3s")] = None,
    pair: Pair = Pair(),
    shard: Annotated[Optional[str], Options(workflow="sdk.shards", inputs={"kernel": "{{kernel}}"}, items=".shards", cache="1h")] = None,
) -> str:
    return fit(kernel, seeds, model, pair)


class TestOptions(unittest.TestCase):
    def test_the_definition_has_them(self) -> None:
        inputs = {entry["name"]: entry for entry in offered.definition().document()["inputs"]}
        self.assertEqual(inputs["kernel"]["options"], {"values": ["rbf", {"value": "linear", "label": "Linear", "description": "Few rows"}]})
        self.assertEqual(
            inputs["seeds"]["options"], {"from": "executions", "where": "inputs.kernel = {{kernel}}", "value": "inputs.seeds", "free": True}
        )
        self.assertEqual(inputs["model"]["options"]["preview"], [".size"])
        self.assertEqual(inputs["shard"]["options"], {"workflow": "sdk.shards", "inputs": {"kernel": "{{kernel}}"}, "items": ".shards", "cache": "1h"})
        self.assertIn('"options": {"values": ["gini", "entropy"]}', inputs["pair"]["type"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"locks": "gpu"}, r"locks='gpu' is not a list of names and Lock\(name, permits\); write locks=\['gpu'\]"),
        ({"locks": Lock("gpu")}, r"write locks=\[Lock\(name='gpu', permits=1\)\]"),
        ({"packages": "pandas"}, r"packages='pandas' is not a list of strings; write packages=\['pandas'\]"),
        ({"packages": ["pandas", 3]}, "is not a list of strings"),
        ({"cache": 3600}, r"cache=3600 is not True, or Cache\(…\)"),
        ({"cache": Cache(ignore="seed")}, r"cache: ignore='seed' is not a list of inputs; write ignore=\['seed'\]"),
        ({"retry": "2"}, r"retry='2' is not a whole number of retries, or Retry\(limit, …\)"),
        ({"retry": {"limit": 2}}, r"is not a whole number of retries"),
        ({"breaker": 3}, r"breaker=3 is not True, or Breaker\(…\)"),
        ({"environment": ["A=1"]}, r"environment=\['A=1'\] is not a dict"),
        ({"pickle": "no"}, "pickle='no' is not True or False"),
        ({"allow_failure": "no"}, "allow_failure='no' is not True or False"),
        ({"name": 3}, "name=3 is not a string"),
    ],
)
def test_operators_refuse_values_of_other_types(options: Any, message: str) -> None:
    def train(n: int) -> int:
        return n

    with pytest.raises(DefinitionError, match=rf"test_options\.py:\d+: train: .*{message}"):
        operator(**options)(train)
    with pytest.raises(DefinitionError, match=rf"test_options\.py:\d+: train: .*{message}"):
        operator(train).options(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tags": "nightly"}, r"tags='nightly' is not a list of strings; write tags=\['nightly'\]"),
        ({"locks": "gpu"}, r"locks=.gpu. .*; write locks=\['gpu'\]"),
        ({"parallelism": "4"}, "parallelism='4' is not a whole number of 0 or more"),
        ({"retry_budget": 3}, r"retry_budget=3 is not RetryBudget\(retries, …\)"),
        ({"ttl": "1d"}, "ttl='1d' is not a dict"),
        ({"metadata": "x"}, "metadata='x' is not a dict"),
        ({"version": 1.0}, "version=1.0 is not a string"),
    ],
)
def test_workflows_refuse_values_of_other_types(options: Any, message: str) -> None:
    with pytest.raises(DefinitionError, match=rf"test_options\.py:\d+: <lambda>: {message}"):
        workflow(**options)(lambda: None)


def test_values_of_the_right_types_are_taken() -> None:
    operator(name="fit", retry=Retry(2), cache=True, breaker=True, locks=("gpu", Lock("disk", 2)), packages=["pandas"], environment={}, pod={"hostNetwork": True})(len_of)
    workflow(tags=("a",), parallelism=0, ttl={"success": "1d"}, retry_budget=RetryBudget(3), locks=["gpu"])(lambda: None)


def len_of(text: str) -> int:
    return len(text)


if __name__ == "__main__":
    unittest.main()
