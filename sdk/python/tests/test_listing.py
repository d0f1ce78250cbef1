"""What a project contains, as DataFrames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas
import pytest

import flowforge
from flowforge import InputError, NotFoundError, register_dataset, register_model, sweep

from .flows import several
from .serving import server

__all__ = ["server"]


def test_workflows(server: Any) -> None:
    first, second = several.measured.deploy(), several.measured.deploy("7.0.0")
    found = flowforge.workflows(search="measured")
    assert list(found.columns) == ["name", "version", "description", "tags", "team", "created_at", "updated_at"]
    assert list(found["name"]) == ["measured"] and list(found["version"]) == ["7.0.0"]
    assert isinstance(found["created_at"].dtype, pandas.DatetimeTZDtype)
    assert len(flowforge.workflows(limit=1)) == 1
    assert (first, second) == ("1.0.0", "7.0.0")

    versions = flowforge.versions(several.measured)
    assert list(versions["version"]) == ["7.0.0", "1.0.0"] and list(versions["nodes"]) == [1, 1]
    with pytest.raises(NotFoundError, match=r"the project has no workflow 'nothing'; flowforge.workflows\(\) lists its workflows"):
        flowforge.versions("nothing")


def test_inputs(server: Any) -> None:
    several.several.deploy()
    for workflow in ("several", "several@1.0.0", several.several):
        found = flowforge.inputs(workflow)
        assert found.to_dict("records") == [
            {"name": "count", "type": "Integer", "required": False, "default": 2, "description": ""},
            {"name": "kinds", "type": "List<String>", "required": False, "default": ["svc", "forest"], "description": ""},
        ]
    with pytest.raises(NotFoundError, match=r"the workflow several has no version '9.9.9'; flowforge.versions\('several'\) lists its versions"):
        flowforge.inputs("several@9.9.9")
    with pytest.raises(InputError, match="7 is not a workflow: use a function with @workflow, or the name"):
        flowforge.inputs(7)  # type: ignore[arg-type]


def test_sweeps_and_schedules(server: Any) -> None:
    made = sweep(several.several, {"count": [1, 2]}, method="grid", name="listed").wait(120)
    found = flowforge.sweeps(workflow="several")
    assert list(found["sweep_id"]) == [made.id] and list(found["name"]) == ["listed"] and list(found["state"]) == ["SUCCEEDED"]
    assert flowforge.sweeps(state="PAUSED").empty
    assert flowforge.schedules(workflow="several").empty
    server.put("/workflows/several/schedules", {"schedules": [{"name": "nightly", "cron": "0 2 * * *"}]})
    scheduled = flowforge.schedules()
    assert list(scheduled["name"]) == ["several/nightly"] and list(scheduled["paused"]) == [False]
    assert scheduled["next_fire_at"].notna().all()


def test_models_and_datasets(server: Any, tmp_path: Path) -> None:
    path = tmp_path / "weights.bin"
    path.write_bytes(b"weights")
    register_model("listed@1", path, metrics={"accuracy": 0.5})
    register_model("listed@2", path, metrics={"accuracy": 0.9}, framework="sklearn")
    found = flowforge.models("listed")
    assert list(found["ref"]) == ["listed@2", "listed@1"] and list(found["metrics.accuracy"]) == [0.9, 0.5] and list(found["size"]) == [7, 7]
    table = tmp_path / "rows.csv"
    table.write_text("a\n1\n")
    register_dataset("listed-rows@1", table)
    assert list(flowforge.datasets("listed-rows")["ref"]) == ["listed-rows@1"]
