"""Options of inputs in the definition of a workflow."""

from __future__ import annotations

import dataclasses
import unittest
from typing import Annotated, List, Optional

from flowforge import Option, Options, operator, workflow


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


if __name__ == "__main__":
    unittest.main()
