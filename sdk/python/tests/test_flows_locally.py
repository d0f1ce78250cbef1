"""Workflows in plain Python: a call returns the real values."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Dict, List, Optional, Set, Tuple

import numpy
import pytest

from flowforge import Dataset, DefinitionError, InputError, Model, OutputError, Range, approval, foreach, on_exit, operator, when, workflow

from .flows import equal, nested, search, trouble, typed


def test_search_runs_here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "rows.txt"
    data.write_text("a\nb\nc\n")
    found = search.search(Dataset(data), kinds=["svc", "forest"])
    assert found.model.load() == {"kind": "forest", "rows": 2}
    assert (found.accuracy, found.text) == (6.1, "good: 6.1")
    assert "INFO the search ended: SUCCEEDED" in capsys.readouterr().out


def test_operators_are_functions() -> None:
    assert nested.double(2) == 4.0 and isinstance(nested.double(2), float)
    assert nested.letters(12) == "bc"
    assert nested.double.__name__ == "double"


def test_a_file_as_result_is_a_handle(tmp_path: Path) -> None:
    @operator
    def make() -> Model:
        return {"n": 1}  # type: ignore[return-value]

    made = make()
    assert isinstance(made, Model) and made.load() == {"n": 1}
    assert made.path.read_text() == '{"n": 1}'


def test_a_result_that_is_a_missing_file() -> None:
    @operator
    def path() -> Path:
        return Path("nowhere.bin")

    @operator
    def handle() -> Model:
        return Model(Path("nowhere.bin"))

    for make in (path, handle):
        with pytest.raises(OutputError, match=r"operator \w+, output 'result': the file .*nowhere.bin does not exist"):
            make()


def test_an_exclusive_limit() -> None:
    @operator
    def half(rate: Annotated[float, Range(exclusive_max=2)]) -> float:
        return rate / 2

    @workflow
    def halve(rate: Annotated[float, Range(exclusive_min=0, exclusive_max=1)]) -> float:
        return half(rate)

    assert halve(0.5) == 0.25
    for wrong, why in ((0, "0 is not more than 0"), (1.0, "1.0 is not less than 1")):
        with pytest.raises(DefinitionError, match=rf"halve: rate: {why}; its type is Float\(exclusive_min=0, exclusive_max=1\)"):
            halve(wrong)


@operator
def returns(value: Any) -> int:
    return value  # type: ignore[no-any-return]


@operator
def layers(value: Any) -> List[equal.Layer]:
    return value  # type: ignore[no-any-return]


@operator
def fitted(value: Any) -> equal.Fitted:
    return value  # type: ignore[no-any-return]


@operator
def anything(value: Any) -> Any:
    return value


@operator
def one_or_none(value: Any) -> Optional[Annotated[int, Range(1, 5)]]:
    return value  # type: ignore[no-any-return]


@workflow
def counted(value: str) -> int:
    return returns(value)


@pytest.mark.parametrize(
    ("call", "value", "message"),
    [
        (counted, "abc", "operator returns, output 'result': 'abc' is not an `int`"),
        (returns, 1.5, "operator returns, output 'result': 1.5 is not an `int`"),
        (returns, True, "operator returns, output 'result': True is not an `int`"),
        (returns, None, "operator returns, output 'result': the function returned None, but declares `int`; declare Optional[…] if it may be absent"),
        (one_or_none, 7, "operator one_or_none, output 'result': 7 is more than 5"),
        (layers, [equal.Layer(2, {})], "operator layers, output 'result': its field rate: 2 is more than 1"),
        (layers, [3], "operator layers, output 'result': [3] is not a `List[tests.flows.equal.Layer]`: 'int' object has no attribute 'rate'"),
        (fitted, (Model({"n": 1}), "good"), "operator fitted, output 'accuracy': 'good' is not a `float`"),
        (fitted, 3, "fitted returned int, but declares `Fitted`: 'int' object is not iterable"),
        (fitted, [1, 2, 3], "fitted returned list, but declares `Fitted`: it returned 3 values; its annotation declares 2"),
        (anything, {"s": {1}}, "operator anything, output 'result' cannot be written as JSON: ['s'] has the type `set`; convert it to values of JSON"),
        (anything, {"a": [{(1, 2): 3}]}, "operator anything, output 'result' cannot be written as JSON: the key (1, 2) of ['a'][0] has the type `tuple`, but keys are strings"),
        (anything, ["x" * (1 << 20)], "operator anything, output 'result' has 1.0 MiB as JSON, and a value can have 1 MiB; return a File, Table, Model or DataFrame"),
        (equal.diverged, "nan", "operator diverged, output 'result' is NaN, which JSON cannot represent. Declare Optional[float] and return None."),
    ],
)
def test_a_result_of_another_type(call: Any, value: Any, message: str) -> None:
    with pytest.raises(OutputError, match=f"^{re.escape(message)}"):
        call(value)


def test_results_that_fit() -> None:
    assert [returns(4), one_or_none(None), anything([1, None]), fitted((Model({"n": 1}), 1)).accuracy] == [4, None, [1, None], 1.0]
    found = returns(4.0)
    assert (found, type(found)) == (4, int), "the server stores a whole number"


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"n": 0}, r"n: 0 is less than 1; its type is Integer\(min=1, max=5\)$"),
        ({"n": 1.5}, "n: 1.5 is not an `int`; its type is "),
        ({"n": None}, "n: None is not an `int`"),
        ({"x": "a"}, "x: 'a' is not a `float`"),
        ({"x": True}, "x: True is not a `float`"),
        ({"x": float("nan")}, "x: nan contains a number that JSON cannot represent"),
        ({"name": ""}, "name: '' has 0 characters, which is less than 1"),
        ({"name": "abcd"}, "name: 'abcd' has 4 characters, which is more than 3"),
        ({"name": "a1"}, r"name: 'a1' does not match the pattern \[a-z\]\+"),
        ({"layers": [equal.Layer(2, {})]}, "layers: its field rate: 2 is more than 1"),
        ({"layers": [equal.Layer(1, {"w": "a"})]}, "layers: its field weights: 'a' is not a `float`"),  # type: ignore[dict-item]
        ({"layers": [equal.Layer(1, {})] * 3}, "layers: .* has 3 entries, which is more than 2"),
        ({"pair": (1, 2)}, "pair: its field item_2: 2 is not a `str`"),
        ({"day": "tomorrow"}, "day: 'tomorrow' is not an? `date`: Invalid isoformat string"),
    ],
)
def test_arguments_of_a_workflow(inputs: Dict[str, Any], message: str) -> None:
    with pytest.raises(DefinitionError, match=rf"{Path(__file__).name}:\d+: limited: {message}"):
        equal.limited(**inputs)


def test_arguments_that_fit() -> None:
    assert equal.limited(5, 1, "abc", [equal.Layer(1, {"w": 1})], (1, "b"), {"a": [1, None]}, datetime.date(2026, 1, 2)) == 1.0


def test_values_are_converted_here() -> None:
    @operator
    def given(weights: Dict[str, float], point: equal.Point, tags: Any) -> Dict[str, float]:
        weights["kept"] = point.x
        return weights

    mine: Dict[str, float] = {"k": 1}
    found = given(mine, equal.Point(2), {"a"})
    assert [type(v) for v in found.values()] == [float, float] and mine == {"k": 1}, "a task cannot change the value of its caller"


@dataclass
class Row:
    n: int
    rate: float
    more: List[float]


numbers: List[Any] = [numpy.int64(3), numpy.float32(0.5), numpy.float32(0.25)]


@operator
def rows() -> List[Row]:
    n, rate, more = numbers
    return [Row(n, rate, [more])]


@operator
def pair() -> Tuple[int, Tuple[int, ...]]:
    return numpy.int64(3), (numpy.int8(1),)  # type: ignore[return-value]


@operator
def counts(given: Dict[str, float]) -> Dict[str, float]:
    return {**given, 1: 2.5}  # type: ignore[dict-item]


def test_scalars_of_numpy_inside_structures() -> None:
    assert rows() == [Row(3, 0.5, [0.25])] and type(rows()[0].n) is int
    assert pair() == (3, (1,))
    assert anything({"a": (numpy.int64(3), [numpy.float32(0.5)])}) == {"a": [3, [0.5]]}


@operator
def joined(names: List[str], only: Set[str], row: Tuple[str, ...]) -> List[str]:
    return names


@operator
def letters() -> List[str]:
    return "abc"  # type: ignore[return-value]


@workflow
def joining(names: List[str] = ["a"]) -> List[str]:
    return joined(names, {"a"}, ("a",))


def test_a_string_is_no_list_of_its_characters() -> None:
    untyped: Any = joining
    with pytest.raises(DefinitionError, match="joining: names: 'abc' is not a `List.str.`: put it in brackets to make it the only entry"):
        untyped("abc")
    with pytest.raises(OutputError, match="operator letters, output 'result': 'abc' is not a `List.str.`"):
        letters()

    @workflow
    def wrong(n: int) -> List[str]:
        return joined("abc", {"a"}, ("a",))  # type: ignore[arg-type]

    with pytest.raises(DefinitionError, match="joined: names: 'abc' is not a `List.str.`: put it in brackets"):
        wrong.definition()


def test_values_of_json_are_those_of_a_task() -> None:
    assert counts({"0": 1.0}) == {"0": 1.0, "1": 2.5}
    assert anything({0: (1, 2), None: [{True: 3}]}) == {"0": [1, 2], "null": [{"true": 3}]}


def test_pickles_inside_structures_here() -> None:
    assert equal.handed(4) == 4
    model = equal.better([equal.fitted(1)]).model
    with pytest.raises(InputError, match="is a pickle, and reading it can run code"):
        trouble.careful(model)


def test_a_value_without_a_format_names_the_operator() -> None:
    with pytest.raises(OutputError, match="^operator stumble, output 'result': a tests.flows.trouble.Machine has no file format. Write it to a file and return its path, or "):
        trouble.stumble("object")


def test_allow_partial() -> None:
    def check(n: int) -> int:
        if n == 2:
            raise ValueError(n)
        return n

    assert foreach([1, 2, 3], check, allow_partial=True) == [1, None, 3]
    with pytest.raises(ValueError):
        foreach([2], check, allow_partial=True)
    with pytest.raises(ValueError):
        foreach([1, 2], check)


def test_branches() -> None:
    assert when(True, lambda: 1, lambda: 2) == 1
    assert when(False, lambda: 1) is None


@pytest.mark.filterwarnings("ignore:Bitwise inversion:DeprecationWarning")  # from Python 3.12
@pytest.mark.parametrize("a", [True, False])
@pytest.mark.parametrize("b", [True, False])
def test_conditions_of_real_values(a: bool, b: bool) -> None:
    for condition, expected in ((~a, not a), (~(~a), a), (a & ~b, a and not b), (~a | b, not a or b), (~a & ~b, not a and not b)):
        assert when(condition, lambda: True, lambda: False) is expected  # type: ignore[call-overload]


def test_exit_handlers_run_after_a_failure() -> None:
    from flowforge import execution

    seen = []

    @workflow
    def flow(n: int) -> None:
        on_exit(lambda: seen.append(execution.status))
        if n:
            raise ValueError("no")

    with pytest.raises(ValueError):
        flow(1)
    flow(0)
    assert seen == ["FAILED", "SUCCEEDED"]


def test_approvals_answer_their_default() -> None:
    assert approval("Go?", typed.Answer, default=typed.Answer(True)).publish
    with pytest.raises(DefinitionError, match="no person can answer in plain Python; set default="):
        approval("Go?", typed.Answer)


def test_typed_user_code_has_a_definition() -> None:
    def flow(data: Dataset) -> None:
        answer = approval("Publish?", typed.Answer, default=typed.Answer(True), timeout="1h")
        when(answer.publish, lambda: typed.announce("yes"))

    document = workflow(flow).definition().document()
    section = document["operators"][0]
    assert section["approval"]["default"] == {"publish": True, "note": ""}
    assert [f["name"] for f in section["approval"]["form"]] == ["publish", "note"]
    assert document["operators"][1]["when"] == "nodes.approval.outputs.publish"


def test_the_message_of_an_approval_contains_values() -> None:
    def flow(data: Dataset, lr: float = 0.1) -> None:
        approval("Publish {{rows}} rows, with {{ lr }}?", values={"rows": typed.prepare(data).train, "lr": lr})

    section = workflow(flow).definition().document()["operators"][1]
    assert section["approval"]["message"] == "Publish {{rows}} rows, with {{ lr }}?"
    assert [(i["name"], i["from"]) for i in section["inputs"]] == [("rows", "prepare.train"), ("lr", "inputs.lr")]


@pytest.mark.parametrize(
    ("message", "values", "why"),
    [
        ("Publish {{model}}?", {}, "values has no model, which the message contains; pass values={'model': …}"),
        ("Publish?", {"n": 1}, "the message does not contain n; write {{n}} where its value belongs"),
        ("Publish {{n}}?", {"n": 1}, "the value n is not the result of an operator or an input of the workflow; write it in the message"),
    ],
)
def test_values_that_a_message_cannot_contain(message: str, values: Dict[str, Any], why: str) -> None:
    def flow() -> None:
        approval(message, values=values)

    with pytest.raises(DefinitionError, match=re.escape(why)):
        workflow(flow).definition()


def test_options_of_a_sub_workflow() -> None:
    operators = {o["name"]: o for o in nested.nested.definition().document()["operators"]}
    other = operators["other"]
    assert (other["graph"], other["depends"], other["allow_failure"]) == ("tune", "score.Failed", True)
