"""Fields that classes of pydantic do not declare and keep."""

from typing import Any, Dict, List

import pydantic

from flowforge import foreach, operator, workflow


class Open(pydantic.BaseModel, extra="allow"):
    rate: float = 0.1


class Free(pydantic.BaseModel, extra="allow"):
    pass


class Outer(pydantic.BaseModel):
    inner: Free = Free()
    many: List[Open] = []


@operator(cpu=0.1, memory="64Mi")
def made(options: Open, seed: int) -> Open:
    return Open.model_validate({**options.model_dump(), "seed": seed})


@operator(cpu=0.1, memory="64Mi")
def seen(options: Open, outer: Outer) -> Dict[str, Any]:
    return {"options": options.model_extra, "inner": outer.inner.model_extra, "many": [one.model_extra for one in outer.many]}


@operator(cpu=0.1, memory="64Mi")
def collect(parts: List[Dict[str, Any]], seeds: List[Any], depth: Any) -> Dict[str, Any]:
    return {"parts": parts, "seeds": seeds, "depth": depth}


@workflow(name="sdk.extra")
def extra(options: Open = Open.model_validate({"depth": 3}), outer: Outer = Outer()) -> Dict[str, Any]:
    several = foreach([1, 2], lambda seed: made(options, seed))
    seeds: Any = foreach(several, lambda one: one.seed)  # type: ignore[attr-defined]
    return collect(foreach(several, lambda one: seen(one, outer)), seeds, options.depth)  # type: ignore[attr-defined]


@operator(cpu=0.1, memory="64Mi")
def lone(name: str) -> Dict[str, List[str]]:
    return {name: [b"caf\xe9".decode("utf-8", "surrogateescape")]}


@workflow(name="sdk.lone")
def lone_surrogate(name: str = "x") -> Dict[str, List[str]]:
    return lone(name)
