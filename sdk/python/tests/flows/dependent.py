"""Inputs that depend on each other."""

from typing import Annotated, Literal, Optional

from flowforge import Limits, OptionsFrom, RequiredIf, ShowIf, operator, workflow


@operator
def fit(kind: str, kernel: str, depth: Optional[int], batch: int) -> str:
    return f"{kind} {kernel} {depth} {batch}"


@workflow(name="sdk.dependent")
def dependent(
    kind: Literal["svc", "forest"] = "svc",
    kernel: Annotated[Literal["rbf", "linear"], ShowIf("kind == 'svc'"), OptionsFrom("batch > 10 ? ['linear'] : nil")] = "linear",
    depth: Annotated[Optional[int], RequiredIf("kind == 'forest'")] = None,
    rows: int = 100,
    batch: Annotated[int, Limits(min="1", max="rows / 2")] = 32,
) -> str:
    return fit(kind, kernel, depth, batch)
