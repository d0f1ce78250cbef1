"""What notebooks show for executions, sweeps and functions."""

from __future__ import annotations

from typing import Any, Dict, List

import pytest

from flowforge import Run, Sweep, _show, operator, shell, workflow

FOUND: Dict[str, Any] = {"execution_id": "7", "workflow_name": "a<b", "status": "FAILED", "progress": {"completed": 1, "total_operators": 2}}


def series(name: str, *values: Any, node: str = "train", attempt: int = 1, first: int = 0) -> Dict[str, Any]:
    return {"name": name, "node": node, "attempt": attempt, "points": [{"step": first + i, "value": value} for i, value in enumerate(values)]}


def test_attempts_have_their_own_lines_on_the_same_axis() -> None:
    shown = _show.run("http://x/7", FOUND, [series("loss", 4.0, 2.0, 0.0), series("loss", 4.0, 0.0, attempt=2, first=3)])
    assert shown.count("<figure") == 1 and "train loss 0<" in shown
    assert 'points="2.0,2.0 41.0,20.0 80.0,38.0"' in shown and 'points="119.0,2.0 158.0,38.0"' in shown
    assert "a&lt;b 7</a> <b>FAILED</b> 1 of 2 nodes" in shown


def test_numbers_that_are_not_finite_leave_gaps() -> None:
    shown = _show.run("http://x/7", FOUND, [series("loss", 1.0, "NaN", 0.0), series("missing", "NaN"), series("accuracy", 0.5), series("system.cpu", 1, 2)])
    assert 'points="2.0,2.0 158.0,38.0"' in shown
    assert "train accuracy 0.5</figcaption></figure>" in shown and "missing" not in shown and "system" not in shown


def test_many_metrics_are_on_the_page() -> None:
    many: List[Any] = [series(f"m{i}", 1, 2) for i in range(_show.CURVES + 1)]
    assert "1 more metric</a>" in _show.run("http://x/7", FOUND, many) and "2 more metrics</a>" in _show.run("http://x/7", FOUND, [*many, series("z", 1, 2)])
    assert "more metric" not in _show.run("http://x/7", FOUND, many[1:])


def test_errors_and_waits() -> None:
    found = {**FOUND, "error": {"node": "train", "message": "one\n<two>"}, "nodes": [{"operator": "ask", "reason": {"code": "APPROVAL", "message": "Go on?"}}]}
    shown = _show.run("http://x/7", found, [])
    assert "node train: one\n&lt;two&gt;</div>" in shown and "ask waits: Go on?" in shown


def test_sweeps() -> None:
    found = {
        "id": "9", "name": "Sweep of x", "state": "RUNNING", "runs": 5, "objective": {"metric": "loss"}, "counts": {"created": 4, "succeeded": 1, "failed": 2, "running": 1},
        "best": {"objective": 0.25, "values": {"lr": 0.1, "kind": "<svc>"}}, "message": "Waits.",
    }  # fmt: skip
    assert _show.counts(found) == "3 of 5 runs ended, 2 failed"
    shown = _show.sweep("http://x/9", found)
    assert "<b>RUNNING</b> 3 of 5 runs ended, 2 failed" in shown and "best: loss = 0.25 (lr = 0.1, kind = &lt;svc&gt;)" in shown and "Waits." in shown


def test_functions() -> None:
    @operator(name="add-one")
    def add(n: int, by: int = 1) -> int:
        return n + by

    @shell("true")
    def nothing(text: str) -> None: ...

    @workflow(name="a.b")
    def flow(n: int) -> int:
        return add(n)

    assert (repr(add), repr(nothing), repr(flow)) == ("<operator add-one(n, by)>", "<operator nothing(text)>", "<workflow a.b(n)>")


def test_values_are_shown_without_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOWFORGE_SERVER", "http://127.0.0.1:9")
    monkeypatch.setenv("FLOWFORGE_TOKEN", "secret")
    run, sweep = Run("7"), Sweep("9")
    assert repr(run) == "Run(7, the server does not respond, http://127.0.0.1:9/executions/7)"
    assert repr(sweep) == "Sweep(9, the server does not respond, http://127.0.0.1:9/sweeps/9)"
    assert run._repr_html_() is None and sweep._repr_html_() is None
