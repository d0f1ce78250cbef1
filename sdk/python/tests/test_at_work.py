"""What people do with runs at work: answer approvals, resume, read nodes, logs and metrics."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, Callable, List

import pytest

import flowforge
from flowforge import DefinitionError, ExecutionError, InputError, Run, ServerError, _launch
from flowforge._api import Server

from .flows import work
from .serving import PACKAGE, cli, server


def until_it_waits(run: Run) -> None:
    while not any((one.get("reason") or {}).get("code") == "APPROVAL" for one in run.refresh()["nodes"]):
        assert run.state == "PENDING" or run.state == "RUNNING"


def followed(run: Run) -> str:
    text = io.StringIO()
    with redirect_stdout(text), redirect_stderr(text):
        assert run.follow() is run
    return text.getvalue()


def test_an_approval_is_answered(server: Server) -> None:
    run = work.publish.launch()
    until_it_waits(run)
    assert "approval waits: Publish the model? Its accuracy is 0.97." in (run._repr_html_() or "")
    run.approve(values={"publish": True, "comment": "good"}, reason="all tests pass")
    assert run.wait(120).result() == "published: good"
    rejected = work.publish.launch()
    until_it_waits(rejected)
    rejected.reject()
    with pytest.raises(ExecutionError, match="FAILED: node approval: "):
        rejected.wait(120)


def test_a_terminal_says_what_waits_for_an_answer(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    run = work.publish.launch()
    refresh: Callable[[], Any] = run.refresh
    answers = [{"publish": False}]

    def answering() -> Any:
        found = refresh()
        if answers and any((one.get("reason") or {}).get("code") == "APPROVAL" for one in found["nodes"]):
            run.approve(values=answers.pop())
        return found

    monkeypatch.setattr(run, "refresh", answering)
    assert "approval waits for your answer on its page: Publish the model? Its accuracy is 0.97." in followed(run)


def test_a_failed_run_is_resumed(server: Server) -> None:
    run = work.training.launch(fail=True)
    with pytest.raises(ExecutionError, match=r"(?s)ValueError: Input X contains NaN\.\nThe model does not accept NaN\.\nSee https://example.com/nan"):
        run.wait(120)
    page = run._repr_html_() or ""
    assert "The model does not accept NaN." in page and run.inputs == {"epochs": 4, "fail": True}
    again = run.resume({"fail": False}).wait(120)
    assert again.result() == [2] and again.inputs == {"epochs": 4, "fail": False}
    nodes = again.nodes().set_index("node")
    assert list(nodes.loc["train[0]", ["state", "cached"]]) == ["SUCCEEDED", False]
    assert nodes["finished_at"].max() >= nodes["started_at"].min()
    assert list(again.metrics("loss")["step"]) == [2, 3]
    with pytest.raises(ServerError, match="Choose the node to rerun from"):
        again.resume()
    current = again.resume(from_node="train", workflow=work.training).wait(120)
    assert current.result() == [0] and current.inputs == again.inputs


def test_the_fields_of_log_lines_are_shown(server: Server) -> None:
    run = work.training.launch(2)
    assert 'train[0] | trained epochs=2 kind="two words"' in followed(run)
    assert 'trained epochs=2 kind="two words"\n' in run.logs()


def test_names_that_do_not_exist(server: Server) -> None:
    run = work.training.launch(2).wait(120)
    with pytest.warns(UserWarning, match="has no metric 'los'; its metrics are: loss"):
        assert run.metrics("los").empty
    with pytest.raises(InputError, match="there is no node 'trai'; the nodes are: train"):
        run.metrics(node="trai")
    with pytest.warns(UserWarning, match="the project has no workflow 'sdk.work.trian'"):
        assert flowforge.executions("sdk.work.trian").empty
    assert list(flowforge.executions("sdk.work.train", limit=1, columns="inputs.epochs")["inputs.epochs"]) == [2]
    with pytest.raises(InputError, match="compare needs at least 2 different executions, and this list has 1"):
        flowforge.compare([run])


def test_none_is_not_replaced_by_a_default(server: Server) -> None:
    expected = "(None, Settings(depth=None, width=6), 7)"
    assert work.nothing(None, work.Settings(None)) == expected
    assert work.nothing.launch(None, work.Settings(None)).wait(120).result() == expected
    given: Any = None
    for inputs, message in (({"size": given}, "size: None is not an `int`"), ({"settings": work.Settings(width=given)}, "settings: its field width: None is not an `int`")):
        for call in (work.nothing, work.nothing.launch):
            with pytest.raises(DefinitionError, match=re.escape(message)):
                call(**inputs)
    done = cli("run", str(PACKAGE / "tests" / "flows" / "work.py"), "--workflow", "nothing", "--rate", "null", "--settings.depth", "null")
    assert f'result = "{expected}"' in done.stdout, done


def test_files_of_a_run_are_inputs_of_another(server: Server) -> None:
    run = work.making.launch(3).wait(120)
    reference = {"$artifact": run.artifacts["result"].id}
    handles: List[Any] = [run.artifacts["result"], run.outputs["result"], run.result()]
    for given in handles:
        assert work.reading.launch(given).inputs == {"rows": reference}
        assert flowforge.launch("sdk.work.reading", {"rows": given}).inputs == {"rows": reference}
    assert work.reading.launch(run.outputs["result"]).wait(120).result() == 3
    source: Any = run
    with pytest.raises(DefinitionError, match=r"rows: Run\(.*\) is a run, and not a `Dataset`: pass one of its files, such as run.artifacts"):
        work.reading.launch(source)
    with pytest.raises(InputError, match="is not a file: pass the path of a file, or an artifact of a run"):
        flowforge.register_dataset("work-rows@1", source)
    entry = flowforge.register_dataset("work-rows@1", run.outputs["result"])
    assert entry.entry["artifact"] == reference["$artifact"]
    assert flowforge.launch("sdk.work.reading", {"rows": entry}).inputs == {"rows": {"$catalogue": "work-rows@1"}}


def test_a_data_frame_becomes_a_dataset(server: Server) -> None:
    table = work.framing.launch(3).wait(120).artifacts["result"]
    entry = flowforge.register_dataset("work-frame@1", table)
    assert (table.kind, entry.entry["artifact"], len(entry.load())) == ("Table", table.id, 3)


def test_two_people_deploy_at_the_same_time(server: Server) -> None:
    """The other person's version is registered after this one's number was chosen."""
    announced: List[str] = []

    def announce(text: str) -> None:
        announced.append(text)
        if len(announced) == 1:
            assert _launch.deploy(work.mine(2), server=server).version == "1.0.0"

    found = _launch.deploy(work.mine(3), server=server, announce=announce)
    assert announced == ["sdk.work.mine 1.0.0: the first version.", "sdk.work.mine 1.0.0 → 1.1.0 (minor): default of n changed from 2 to 3."]
    assert found.version == "1.1.0"
    with pytest.raises(ServerError, match="Version 1.1.0 of sdk.work.mine already exists with different content"):
        _launch.deploy(work.mine(4), "1.1.0", server)


def test_the_last_line_is_the_reason_without_an_exception(server: Server) -> None:
    with pytest.raises(ExecutionError, match="FAILED: node leave: The command exited with code 1: the disk is full"):
        work.leaving.launch().follow()
