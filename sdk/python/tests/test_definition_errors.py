"""What Python would silently make a wrong constant of is an error at definition time."""

from __future__ import annotations

import enum
import functools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List, Literal, NamedTuple

import pytest
import yaml

from flowforge import DefinitionError, Model, foreach, length, on_exit, operator, when, workflow
from flowforge import _yaml

from .flows.fits import Fit, best, document, loss, note, refused, total, train, use


class OtherFit(NamedTuple):
    model: Model
    loss: float


@operator
def other_fit(lr: float) -> OtherFit: ...  # type: ignore[empty-body]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda fits, rates, lr: note("rate " + str(lr)), "lr cannot be converted to a string while the workflow is defined"),
        (lambda fits, rates, lr: note(f"rate {lr:.2f}"), "lr cannot be converted to a string"),
        (lambda fits, rates, lr: note("rate %s" % (lr,)), "lr cannot be converted to a string"),
        (lambda fits, rates, lr: note(f"{fits}"), "train cannot be converted to a string"),
        (lambda fits, rates, lr: note(str(train(lr))), "train_2 cannot be converted to a string"),
        (lambda fits, rates, lr: note({0.1: "low"}[lr]), "lr cannot be a key of a dict"),
        (lambda fits, rates, lr: {lr: 1}, "lr cannot be a key of a dict"),
        (lambda fits, rates, lr: {train(lr)}, "train_2 cannot be a key"),
        (lambda fits, rates, lr: note("a" if fits == 1 else "b"), "train cannot be compared"),
        (lambda fits, rates, lr: note("a" if train(lr) else "b"), "Python cannot test train_2"),
    ],
)
def test_texts_and_keys(body: Any, message: str) -> None:
    refused(body, message)


def test_repr_describes_the_future() -> None:
    def flow(kind: Literal["svc", "forest"], lr: float) -> str:
        assert repr(lr) == "<lr: float>"
        assert repr(train(lr)) == "<train: Fit>"
        return note(kind)

    document(flow)


def plain(n: int) -> int:
    return n


slow = operator(cpu=2)(plain)
made = [operator(name=f"made_{n}")(plain) for n in range(2)]


@operator
def twice(n: int) -> int:
    return n


first_twice = twice


@operator  # type: ignore[no-redef]
def twice(n: int) -> int:  # noqa: F811
    return n + 1


def decorated(function: Callable[[int], int]) -> Callable[[int], int]:
    @functools.wraps(function)
    def inner(n: int) -> int:
        return function(n)

    return inner


@operator
@decorated
def wrapped(n: int) -> int:
    return n


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (slow, "the operator plain cannot be found by a task: the name plain of its file is a function"),
        (made[1], "the name plain of its file is a function"),
        (first_twice, "the operator twice cannot be found by a task: the name twice of its file is another operator"),
    ],
)
def test_a_task_finds_the_same_operator(call: Any, message: str) -> None:
    def flow(n: int) -> int:
        return call(n)  # type: ignore[no-any-return]

    with pytest.raises(DefinitionError, match=message):
        document(flow)


def test_operators_that_a_task_finds() -> None:
    def flow(n: int) -> int:
        return wrapped(twice.options(cpu=2)(n))

    scripts = [o["code"]["script"] for o in document(flow)["operators"]]
    assert [s.split("'")[1].rpartition(":")[2] for s in scripts] == ["twice", "wrapped"]


def test_only_files_are_passed_on_as_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Both(NamedTuple):
        text: str
        model: Model

    def flow(text: str, model: Model) -> Both:
        note(text)
        return Both(text, model)

    results = document(flow)["operators"][-1]
    assert "pass_on({'text': False, 'model': True})" in results["code"]["script"]

    secret, model, inputs = tmp_path / "secret", tmp_path / "model.json", tmp_path / "inputs.json"
    secret.write_text("a key of the worker")
    model.write_text("{}")
    inputs.write_text(json.dumps({"text": str(secret), "model": str(model)}))
    environment = {
        "PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path(__file__).resolve().parents[1]),
        "FLOWFORGE_INPUTS": str(inputs), "FLOWFORGE_OUTPUTS": str(tmp_path / "outputs"),
    }  # fmt: skip
    done = subprocess.run([sys.executable, "-c", results["code"]["script"]], env=environment, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert [p.name for p in (tmp_path / "outputs").iterdir()] == ["model.json"]
    assert f"OUTPUT text={secret}" in done.stdout


class Kind(str, enum.Enum):
    SVC = "svc"
    FOREST = "forest"


@operator
def choose(kind: Kind) -> str: ...  # type: ignore[empty-body]


@operator
def anything(value: Any) -> str: ...  # type: ignore[empty-body]


NAN, INFINITE = float("nan"), float("inf")


@pytest.mark.parametrize(
    "body",
    [
        lambda fits, rates, lr: loss(NAN),
        lambda fits, rates, lr: loss(lr * INFINITE),
        lambda fits, rates, lr: total([NAN]),
        lambda fits, rates, lr: anything({"a": [INFINITE]}),
        lambda fits, rates, lr: foreach([0.1, NAN], lambda r: loss(r)),
        lambda fits, rates, lr: note.options(pod={"weight": NAN})("a"),
    ],
)
def test_numbers_that_json_cannot_hold(body: Any) -> None:
    refused(body, "nan|inf|NaN")


def test_a_default_that_json_cannot_hold() -> None:
    def flow(lr: float = float("inf")) -> None:
        loss(lr)

    with pytest.raises(DefinitionError, match="the default of lr: inf contains a number that JSON cannot represent"):
        document(flow)


def test_enums_are_their_values() -> None:
    def flow() -> None:
        choose(Kind.SVC)
        foreach([Kind.SVC, Kind.FOREST], lambda kind: choose(kind))
        anything({"kind": Kind.FOREST})

    found = workflow(flow).definition()
    assert "Kind." not in found.yaml() and "Kind." not in repr(found.document())
    assert found.document()["operators"][1]["foreach"]["items"] == ["svc", "forest"]


TEXTS = (
["", ".5", "1e5", "yes", "No", "~", "null", "2024-01-01", "0x1f", ".inf", "-", "a: b", "a #b", "12:30", "a\nb", "a\nb\n", "a\n\n", "a \nb", " a\nb",
     "\ta\nb", "a\n\t\n", "a\r\nb", "a\x00b", "a\nb\x7f", "a\u2028b\n", "é\u0085\n", "😀\n\x01", ".", "..", "../a", "./a", "/a b", "'\"", "true"]
)  # fmt: skip


def test_yaml_holds_texts_unchanged() -> None:
    for text in TEXTS:
        value = {"a": text, "b": [text, {"c": text}], "d": {"e": {text: 1}}}
        assert yaml.safe_load(_yaml.dump(value)) == value, text


def test_yaml_quotes_what_is_not_plain() -> None:
    assert _yaml.dump({"a": ".5", "b": "1e5", "c": "yes", "d": "2024-01-01", "e": "svc"}) == 'a: ".5"\nb: "1e5"\nc: "yes"\nd: "2024-01-01"\ne: svc\n'
    assert _yaml.dump({"a": ".", "b": "..", "c": "../a", "d": ".a"}) == 'a: .\nb: ..\nc: ../a\nd: ".a"\n'
    assert _yaml.dump({"a": "x \ny"}) == 'a: "x \\ny"\n'
    assert _yaml.dump({"a": "x\n\ty\n"}) == "a: |\n  x\n  \ty\n"
    assert _yaml.dump({"a": "x\u2028\n"}) == 'a: "x\\U00002028\\n"\n'


@pytest.mark.parametrize(
    ("otherwise", "message"),
    [
        (lambda lr: loss(lr), "the branches of when return different values: model, acc, and one value"),
        (lambda lr: other_fit(lr), "the branches of when return different values: model, acc, and model, loss"),
    ],
)
def test_branches_of_different_structures(otherwise: Any, message: str) -> None:
    refused(lambda fits, rates, lr: when(lr > 1, lambda: train(lr), lambda: otherwise(lr)), message)


@pytest.mark.parametrize("text", ["a", "))", '")', "(", "\\", '\\")', 'a"b'])
def test_conditions_with_any_text(text: str) -> None:
    def flow(kind: str) -> None:
        when((kind == "\\") | (kind == text), lambda: note("a"))
        when(kind == text, lambda: note("b"))
        when(-length(kind) < 0, lambda: note("c"))

    quoted = json.dumps(text)
    conditions = [o["when"] for o in document(flow)["operators"]]
    assert conditions == [f'(inputs.kind == "\\\\") || (inputs.kind == {quoted})', f"inputs.kind == {quoted}", "(-len(inputs.kind)) < 0"]


def test_expressions() -> None:
    def flow(rates: List[float], lr: float) -> None:
        fits = foreach(rates, lambda rate: train(rate))
        for value in (10 % length(rates), 2**lr, -lr / 2, length(fits) + length(rates), rates[0]):
            loss(value)

    expressions = [o["inputs"][0].get("expression") for o in document(flow)["operators"][1:]]
    assert expressions == ["(10 % len(inputs.rates) + len(inputs.rates)) % len(inputs.rates)", "2 ** inputs.lr", "(-inputs.lr) / 2", "len(nodes.train.outputs.model) + len(inputs.rates)", "inputs.rates[0]"]


@pytest.mark.parametrize(
    ("use_of", "message"),
    [
        (lambda found, lr: note("a" if found else "b"), r"Python cannot test when\(…\) while the workflow is defined"),
        (lambda found, lr: note(str(found)), r"when\(…\) cannot be converted to a string"),
        (lambda found, lr: note(f"{found}"), r"when\(…\) cannot be converted to a string"),
        (lambda found, lr: note("a" if found == (1, 2) else "b"), r"when\(…\) cannot be compared"),
        (lambda found, lr: {found: 1}, r"when\(…\) cannot be a key"),
        (lambda found, lr: found.loss, r"when\(…\) has no output 'loss'; its outputs are: model, acc"),
        (lambda found, lr: note.options(after=found)("a"), r"<when\(…\): Fit> is not the result of an operator"),
    ],
)
def test_the_result_of_when_is_opaque(use_of: Any, message: str) -> None:
    refused(lambda fits, rates, lr: use_of(when(lr > 1, lambda: train(lr), lambda: train(lr + 1)), lr), message)


@operator
def judge(fit: Fit) -> float: ...  # type: ignore[empty-body]


def test_several_values_of_when() -> None:
    def flow(lr: float, rates: List[float]) -> Fit:
        found = when(lr > 1, lambda: train(lr), lambda: train(lr + 1))
        model, acc = found
        loss(acc)
        use(found.model)
        judge(found)
        best(when(lr > 2, lambda: foreach(rates, lambda r: train(r)), lambda: foreach([0.1], lambda r: train(r))))
        return found

    found = document(flow)
    operators = {o["name"]: o for o in found["operators"]}
    acc = "(inputs.lr > 1) ? (nodes.train.outputs.acc ?? nil) : (nodes.train_2.outputs.acc ?? nil)"
    assert operators["loss"]["inputs"][0]["expression"] == acc
    assert [i["name"] for i in operators["judge"]["inputs"]] == ["fit_model", "fit_acc"]
    assert "'zip': {'model': 'fits_model', 'acc': 'fits_acc'}" in operators["best"]["code"]["script"]
    assert [o["name"] for o in found["outputs"]] == ["model", "acc"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda fits, rates, lr: when(lr > 1, lambda: fits, lambda: train(lr)), r"the branches of when return different types: `list\[Fit\]` and `Fit`"),
        (lambda fits, rates, lr: when(lr > 1, lambda: fits), r"only one branch of when returns a `list\[Fit\]`, so the list may be absent"),
    ],
)
def test_lists_of_several_values_in_one_branch(body: Any, message: str) -> None:
    refused(body, message)


@operator
def join(x: List[float], x_1: float, y: Dict[str, float]) -> float: ...  # type: ignore[empty-body]


def test_inputs_have_different_names() -> None:
    def flow(lr: float) -> float:
        a = loss(lr)
        return join([a, a], a, {"k-1": a, "k_1": a, "K_1": 2.0, "é": a})

    node = document(flow)["operators"][-1]
    names = [i["name"] for i in node["inputs"]]
    assert names == ["x_1_2", "x_2", "x_1", "y_k_1", "y_k_1_2", "y_K_1_3", "y__"]
    assert "{'x': {'list': ['x_1_2', 'x_2']}, 'y': {'map': {'k-1': 'y_k_1', 'k_1': 'y_k_1_2', 'K_1': 'y_K_1_3', 'é': 'y__'}}}" in node["code"]["script"]


def test_positional_only_parameters() -> None:
    def flow(n: int, /) -> None: ...

    for decorator in (operator, workflow):
        with pytest.raises(DefinitionError, match="parameter 'n' of flow is positional-only, but inputs are passed by name; remove the /"):
            decorator(flow)


def test_pickle_is_an_option_of_the_operator() -> None:
    with pytest.raises(DefinitionError, match="pickle of loss cannot change for one call"):
        loss.options(pickle=True)
    loss.options(pickle=False)


def test_an_exit_handler_with_a_larger_fan_out() -> None:
    def flow(rates: List[float]) -> None:
        loss(1.0)
        on_exit(lambda: foreach(rates, lambda rate: loss(loss(rate))))

    found = document(flow)
    assert [o["type"] for o in found["on_exit"]] == ["graph"] and [o["name"] for o in found["operators"]] == ["loss"]
    assert len(found["graphs"]["each_loss"]["operators"]) == 2
