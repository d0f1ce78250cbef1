"""Mistakes in workflows are errors at definition time, with the line and a way out."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Callable, Dict, List, Literal, NamedTuple, Optional

import pytest

from flowforge import Dataset, DefinitionError, Model, Range, Report, Retry, failed, foreach, operator, when, workflow

from .flows import nested as flows

HERE = Path(__file__).name


class Parts(NamedTuple):
    model: Model
    train: Dataset


@operator
def split(data: Dataset) -> Parts: ...  # type: ignore[empty-body]


@operator
def fit(table: Dataset, lr: float = 0.1, kind: Literal["svc", "forest"] = "svc") -> Model: ...  # type: ignore[empty-body]


@operator
def best(models: List[Model]) -> Model: ...  # type: ignore[empty-body]


@operator
def score(model: Model) -> float: ...  # type: ignore[empty-body]


@operator
def maybe(data: Dataset) -> Optional[Dataset]: ...


@operator
def raw(data: bytes = b"x") -> None: ...


def refused(function: Callable[..., Any]) -> str:
    """Return the message of the error without the place, which must be a line of this file."""
    with pytest.raises(DefinitionError) as caught:
        workflow(function).definition()
    place, _, message = str(caught.value).partition(": ")
    assert re.search(rf"{re.escape(HERE)}:\d+$", place), caught.value
    lines = Path(__file__).read_text().splitlines()
    line = lines[int(place.rpartition(":")[2]) - 1]
    assert "# here" in line, f"{place} is {line!r}"
    return message


def test_a_model_is_not_a_dataset() -> None:
    def flow(data: Dataset) -> None:
        parts = split(data)
        fit(parts.model)  # type: ignore[arg-type]  # here

    assert refused(flow) == "fit: table: `Model` is not a `Dataset`; did you mean `parts.train`?"


def test_all_values_instead_of_one() -> None:
    def flow(data: Dataset) -> None:
        parts = split(data)
        fit(parts)  # type: ignore[arg-type]  # here

    assert refused(flow) == "fit: table: `Parts` is not a `Dataset`; did you mean `parts.train`?"


def test_a_constant_outside_the_options() -> None:
    def flow(data: Dataset) -> None:
        fit(data, kind="tree")  # type: ignore[arg-type]  # here

    assert refused(flow) == "fit: kind: 'tree' is not one of 'svc', 'forest'"


def test_an_argument_too_many() -> None:
    def flow(data: Dataset) -> None:
        fit(data, rate=1)  # type: ignore[call-arg]  # here

    assert refused(flow) == "fit: got an unexpected keyword argument 'rate'; its parameters are: table, lr, kind"


def test_a_value_that_may_be_absent() -> None:
    def flow(data: Dataset) -> None:
        fit(maybe(data))  # type: ignore[arg-type]  # here

    assert refused(flow) == "fit: table: the value may be absent (`Optional[Dataset]`), but `Dataset` is required; did you mean `data`?"


def test_if_on_a_future() -> None:
    def flow(data: Dataset) -> None:
        if score(fit(data)) > 0.9:  # here
            fit(data)

    assert refused(flow) == (
        "Python cannot test this expression while the workflow is defined, because the value does not exist yet. "
        "Use when(condition, lambda: …, otherwise=lambda: …) instead of if, & | instead of and, or, and x == False instead of not x"
    )


def test_a_method_of_a_future() -> None:
    def flow(data: Dataset) -> None:
        data.load()  # here

    assert refused(flow) == (
        "data.load is not known while the workflow is defined: data is a future of `Dataset`. "
        "Move this code into an operator, where the value is real"
    )


def test_a_loop_over_a_future() -> None:
    def flow(kinds: List[Literal["svc", "forest"]], data: Dataset) -> None:
        for kind in kinds:  # here
            fit(data, kind=kind)

    assert refused(flow) == (
        "Python cannot iterate over kinds while the workflow is defined, because its items do not exist yet. "
        "Use foreach(kinds, lambda item: train(item)) to call operators for every item, foreach(kinds, lambda item: item.accuracy) to read a field of "
        "every item, and an operator to sort, filter, slice or sum the items"
    )


def test_items_of_the_wrong_type() -> None:
    def flow(rates: List[str], data: Dataset) -> None:
        foreach(rates, lambda rate: fit(data, rate))  # type: ignore[arg-type]  # here

    assert refused(flow) == "fit: lr: `str` is not a `float`"


def test_a_list_of_the_wrong_items() -> None:
    def flow(data: Dataset) -> None:
        scores = foreach([0.1, 0.2], lambda rate: score(fit(data, rate)))
        best(scores)  # type: ignore[arg-type]  # here

    assert refused(flow) == "best: models: its entries: `float` is not a `Model`"


def test_the_result_has_another_type() -> None:
    def flow(data: Dataset) -> Report:
        return fit(data)  # type: ignore[return-value]

    with pytest.raises(DefinitionError, match="flow returns fit.result as result: `Model` is not a `Report`"):
        workflow(flow).definition()


def test_a_condition_that_is_no_condition() -> None:
    def flow(data: Dataset) -> None:
        when(score(fit(data)), lambda: fit(data))  # type: ignore[call-overload]  # here

    assert refused(flow) == "the condition is a `float`, not true or false; compare it, such as score.result > 0.9"


def test_branches_of_different_types() -> None:
    def flow(data: Dataset) -> None:
        when(score(fit(data)) > 1, lambda: fit(data), lambda: score(fit(data)))  # here

    assert refused(flow) == "the branches of when return different types: `Model` and `float`"


def test_a_rule_over_something_else() -> None:
    def flow(data: Dataset) -> None:
        fit.options(after=failed(data))(data)  # here

    assert "is not the result of an operator in this workflow" in refused(flow)


def test_a_body_without_operators() -> None:
    def flow(rates: List[float]) -> None:
        foreach(rates, lambda rate: rate)  # here

    assert refused(flow) == (
        "the body of foreach calls no operator, so it must return a field of the item, such as foreach(fits, lambda fit: fit.accuracy); "
        "compute other values in an operator"
    )


def test_a_sub_workflow_sees_only_its_parameters() -> None:
    def flow(data: Dataset) -> None:
        @workflow
        def inner() -> Model:
            return fit(data)

        inner()

    with pytest.raises(DefinitionError, match="inner uses data of flow; a sub-workflow sees only its parameters: pass the value as an argument"):
        workflow(flow).definition()


def test_a_default_outside_its_range() -> None:
    def flow(kind: Literal["svc"] = "tree") -> None:  # type: ignore[assignment]
        ...

    with pytest.raises(DefinitionError, match="the default of kind: 'tree' is not one of 'svc'"):
        workflow(flow).definition()


def test_errors_outside_the_body_name_the_function() -> None:
    def more(x: Annotated[int, Range(1, 5)] = 9) -> None: ...

    def other(x: int = "abc") -> None: ...  # type: ignore[assignment]

    def nothing(data: Dataset) -> str:  # type: ignore[return]
        fit(data)

    def data(x: bytes = b"x") -> None: ...

    def pod(n: int) -> None:
        split.options(pod={"data": b"x"})(Dataset("rows@1"))

    for function, message in (
        (more, "the default of x: 9 is more than 5"),
        (other, "the default of x: 'abc' is not an `int`"),
        (nothing, "the workflow returns 0 values; its annotation `str` declares 1"),
        (data, "the default of x, b'x': a bytes value cannot be part of a definition; make it an input of the workflow, and set it at launch"),
        (pod, r"operators\[split\].pod.data: b'x' has the type `bytes`, which cannot be part of a definition; "),
    ):
        with pytest.raises(DefinitionError, match=rf"{HERE}:{function.__code__.co_firstlineno}: {message}"):
            workflow(function).definition()


def test_a_bytes_default_of_an_operator() -> None:
    def flow() -> None:
        raw()  # here

    assert refused(flow) == "raw: data: b'x': a bytes value cannot be part of a definition; make it an input of the workflow, and set it at launch"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"memory": "10 gigs"}, """memory='10 gigs' is not a size, such as "512Mi" or "2Gi\""""),
        ({"memory": 512}, "memory=512 is not a size"),
        ({"cpu": -1}, """cpu=-1 is not a number of cores, such as 2, 0.5 or "500m\""""),
        ({"cpu": "two"}, "cpu='two' is not a number of cores"),
        ({"gpu": 0.5}, "gpu=0.5 is not a whole number of 0 or more"),
        ({"timeout": "soon"}, """timeout='soon' is not a time span, such as "30m", "1h30m", a number of seconds or a timedelta"""),
        ({"retry": -1}, "retry=-1 is not a whole number of 0 or more"),
        ({"retry": Retry(2, initial_delay="soon")}, "retry: initial_delay='soon' is not a time span"),
    ],
)
def test_values_of_options(options: Dict[str, Any], message: str) -> None:
    for change in (lambda: operator(**options)(raw.function), lambda: fit.options(**options)):
        with pytest.raises(DefinitionError) as caught:
            change()
        place, _, text = str(caught.value).partition(": ")
        name, _, text = text.partition(": ")
        assert place.startswith(HERE) or f"/{HERE}:" in place, place
        assert name in ("raw", "fit") and text.startswith(message), text


def test_values_of_options_that_the_server_accepts() -> None:
    for cpu in (2, 0.5, "500m", "2", ".5", "1,000m"):
        fit.options(cpu=cpu)
    for memory in ("512Mi", "2 GiB", "1.5gi", "500M", "2GB", "100k", ""):
        fit.options(memory=memory)
    spans: List[Any] = ["30m", "1h30m", "1 h 30 min", "1.5 days", "0", "90", "PT1H30M", "250ms", 0.5, 90, timedelta(minutes=5)]
    for timeout in spans:
        fit.options(timeout=timeout)


def test_signatures_without_types() -> None:
    def bare(lr) -> None: ...  # type: ignore[no-untyped-def]

    def star(*rates: float) -> None: ...

    def stars(**rates: float) -> None: ...

    def number(z: complex) -> None: ...

    for function, message in (
        (bare, r"parameter 'lr' of bare has no type; annotate it, such as lr: float"),
        (star, r"parameter 'rates' of star: inputs have names; replace \*rates with parameters or a list"),
        (stars, r"parameter 'rates' of stars: inputs have names; replace \*\*rates with parameters or a dict"),
        (number, r"parameter 'z' of number: `complex` has no type. Use a type such as int, str"),
    ):
        with pytest.raises(DefinitionError, match=rf"{HERE}:{function.__code__.co_firstlineno}: {message}"):
            operator(function)


def test_unknown_options() -> None:
    with pytest.raises(DefinitionError, match="operator has no option 'memroy'; did you mean 'memory'?"):
        operator(memroy="2Gi")(lambda: None)  # type: ignore[call-overload]


def test_an_operator_inside_a_function() -> None:
    @operator
    def inner(n: int) -> int:
        return n

    def flow(n: int) -> int:
        return inner(n)

    with pytest.raises(DefinitionError, match="the operator inner is inside another function, where a task cannot find it; move it to the top level"):
        workflow(flow).definition()


def test_nested_is_right() -> None:
    assert flows.nested.definition().name == "sdk.nested"


def test_a_file_is_no_constant() -> None:
    def flow() -> None:
        fit(Dataset(Path("rows.csv")))  # here

    assert "a local file cannot be part of a definition; make it an input of the workflow, and set it at launch" in refused(flow)


def test_a_handle_of_a_future() -> None:
    def flow(data: Dataset) -> None:
        Model(fit(data))  # here

    assert refused(flow) == "Model(…): fit.result does not exist while the workflow is defined; pass it on as it is, or make the Model in an operator"
