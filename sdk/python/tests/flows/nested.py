"""Graphs: a workflow in a workflow, a fan-out whose body is a graph, recursion, and rules."""

from typing import Dict, List, NamedTuple, Optional

from flowforge import any_succeeded, command, completed, failed, foreach, length, operator, shell, skipped, status, when, workflow


class Point(NamedTuple):
    x: float
    y: float


class Score(NamedTuple):
    name: str
    value: float


@operator(cpu=0.1, memory="64Mi")
def double(n: float) -> float:
    return n * 2


@operator(cpu=0.1, memory="64Mi")
def add(a: float, b: float) -> float:
    return a + b


@operator(cpu=0.1, memory="64Mi")
def score(name: str, value: float) -> Score:
    return Score(name, value)


@operator(cpu=0.1, memory="64Mi")
def total(values: List[float]) -> float:
    return sum(values)


@operator(cpu=0.1, memory="64Mi")
def points(n: int) -> List[Point]:
    return [Point(float(i), 0.5) for i in range(1, n + 1)]


@operator(cpu=0.1, memory="64Mi")
def whole(values: List[int]) -> List[int]:
    return values


@operator(cpu=0.1, memory="64Mi")
def names(scores: List[Score]) -> str:
    return " ".join(f"{s.name}={s.value:g}" for s in scores)


@operator(cpu=0.1, memory="64Mi")
def join(parts: List[float], extra: Optional[float] = None) -> str:
    return ",".join(f"{p:g}" for p in parts) + (f"+{extra:g}" if extra is not None else "")


@operator(cpu=0.1, memory="64Mi", allow_failure=True)
def fragile(n: int) -> int:
    if n == 2:
        raise ValueError("two is not allowed")
    return n


@operator(cpu=0.1, memory="64Mi")
def kept(values: List[Optional[int]]) -> str:
    return " ".join("-" if v is None else str(v) for v in values)


@operator(cpu=0.1, memory="64Mi")
def note(text: str) -> str:
    return text


@shell('printf "%s" "$FLOWFORGE_PARAM_N" | tr 0-9 a-j > "$FLOWFORGE_OUTPUTS/result"', cpu=0.1, memory="64Mi")
def letters(n: int) -> str:
    raise NotImplementedError


@command("awk", 'BEGIN { printf "%s", toupper(ENVIRON["FLOWFORGE_PARAM_TEXT"]) > (ENVIRON["FLOWFORGE_OUTPUTS"] "/result") }', cpu=0.1, memory="64Mi")
def shout(text: str) -> str: ...  # type: ignore[empty-body]


@operator(cpu=0.1, memory="64Mi")
def describe(found: Score) -> str:
    return f"{found.name}: {found.value:g}"


@workflow
def tune(start: float, factor: float = 3.0) -> Score:
    """Makes one score."""
    doubled = double(start)
    return score("tuned", add(doubled, factor))


@workflow
def countdown(n: int) -> int:
    return when(n > 0, lambda: countdown(n - 1), lambda: n)


@workflow
def pairs(n: float) -> Dict[str, List[float]]:
    return {"double": [double(n), n], "none": []}


class Nested(NamedTuple):
    total: float
    named: str
    joined: str
    first: float
    kept: str
    letters: str
    note: str
    optional: Optional[str]
    size: int
    left: int
    lists: Dict[str, List[float]]
    across: float
    shouted: str
    chosen: str
    absent: Optional[str]
    remainders: List[int]


@workflow(name="sdk.nested", parallelism=4)
def nested(base: float = 1.0, rates: List[float] = [1.0, 2.0, 3.0], extra: Optional[float] = None) -> Nested:
    one = tune(base)

    def body(rate: float, index: int) -> float:
        grown = add(rate, one.value)
        return add(double(grown), base + index)

    sums = foreach(rates, body)
    scores = foreach(["x", "y"], lambda name: score(name, base))
    tuned = foreach(rates, lambda rate: tune(rate, 10.0))
    squares = foreach(range(1, 4), lambda n: foreach([1.0, 2.0], lambda m: add(n, m)), name="outer")
    partial = foreach(range(1, 4), lambda n: fragile(n), allow_partial=True)
    after = note.options(after=completed(partial) & ~skipped(one), name="after")("after")
    only_if_bad = when(base > 100, lambda: note.options(name="unlikely")("huge"))
    note.options(after=failed(scores), name="rescue")("never")
    tune.options(after=failed(scores), name="other", allow_failure=True)(base)
    note.options(after=any_succeeded(partial), name="some")(status(one))
    flat = total([total.options(name="inner")([base, base]), 2.5])
    joined = join(foreach(tuned, lambda t: t.value), flat)
    across = total(foreach(points(2), lambda p: p.x))
    chosen = when(base > 100, lambda: tune(base), lambda: score("small", base))
    absent = when(extra == None, lambda: note.options(name="absent")("no extra"))  # noqa: E711
    remainders = whole([(length(rates) - 10) % 4, 7 % (0 - length(rates))])
    foreach(squares, lambda row: total.options(name="row_total")(row))
    return Nested(
        total(sums), names(scores), joined, one.value, kept(partial), letters(12), after, only_if_bad, length(rates), countdown(2), pairs(4.0), across,
        shout("done"), describe(chosen), absent, remainders,
    )  # fmt: skip
