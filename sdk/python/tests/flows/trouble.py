"""Operators that fail, each in its own way."""

from typing import Annotated, Any, List, Literal, Optional

from flowforge import File, Model, client, operator, workflow

Way = Literal["raise", "object", "none", "count", "exit", "unreadable"]


class Machine:
    """A class without a file format."""

    def __init__(self, n: int) -> None:
        self.n = n


def deep(text: str) -> int:
    return int(text)


@operator(cpu=0.1, memory="64Mi")
def stumble(way: Way) -> Model:
    found: Any = Model({"n": 1})
    if way == "raise":
        try:
            deep("seven")
        except ValueError as err:
            raise RuntimeError("the sevens are gone") from err
    if way == "object":
        found = Model(Machine(1))
    if way == "none":
        found = None
    if way == "exit":
        raise SystemExit(7)
    return found  # type: ignore[no-any-return]


@operator(cpu=0.1, memory="64Mi", pickle=True)
def machine(n: int) -> Machine:
    return Machine(n)


@operator(cpu=0.1, memory="64Mi", pickle=True)
def use(one: Machine) -> int:
    return one.n + 1


@operator(cpu=0.1, memory="64Mi", pickle=True)
def wrapped(n: int) -> Model:
    return Model(Machine(n))


@operator(cpu=0.1, memory="64Mi")
def careful(model: Model) -> int:
    return int(model.load().n)


@operator(cpu=0.1, memory="64Mi")
def report(short: int, long: int) -> None:
    for name, points in (("short", short), ("long", long)):
        for step in range(points):
            client.metric(name, step % 7, step=step)


@workflow(name="sdk.metrics")
def metrics(short: int, long: int) -> None:
    report(short, long)


@workflow(name="sdk.trouble")
def trouble(way: Way = "raise") -> Model:
    return stumble(way)


@workflow(name="sdk.pickles")
def pickles(n: int = 4) -> int:
    return use(machine(n))


@workflow(name="sdk.careful")
def unreadable(n: int = 4) -> int:
    return careful(wrapped(n))


@operator(cpu=0.1, memory="64Mi")
def measure(files: List[File], label: Annotated[str, "A name."] = "", extra: Optional[File] = None) -> str:
    return f"{label}{sum(len(f.path.read_bytes()) for f in files)}{'' if extra is None else '+'}"


@workflow(name="sdk.files")
def files(one: File, more: List[File], extra: Optional[File] = None) -> str:
    return measure([one, one], "total ", extra)
