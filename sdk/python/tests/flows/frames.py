"""Values of pandas, numpy and pydantic between operators."""

from typing import Annotated, Any, Dict, List, NamedTuple

import numpy
import pandas
import pydantic

from flowforge import Dataset, Model, Table, foreach, operator, workflow


class Options(pydantic.BaseModel):
    column: str = "b"
    factor: Annotated[int, pydantic.Field(ge=1, le=9)] = 2


class Parts(NamedTuple):
    frame: pandas.DataFrame
    weights: "numpy.ndarray[Any, Any]"


@operator(cpu=0.1, memory="256Mi")
def split(data: Dataset, options: Options) -> Parts:
    frame = data.load()
    frame[options.column] *= options.factor
    return Parts(frame, frame[options.column].to_numpy())


@operator(cpu=0.1, memory="256Mi")
def keep(frame: pandas.DataFrame, limit: int) -> Table:
    return Table(frame[frame["b"] > limit])


@operator(cpu=0.1, memory="256Mi")
def fit(tables: List[Table], weights: "numpy.ndarray[Any, Any]") -> Model:
    return Model({"weights": weights, "rows": numpy.array([len(t.load()) for t in tables])})


@operator(cpu=0.1, memory="256Mi")
def describe(model: Model) -> Dict[str, float]:
    found = model.load()
    return {"rows": found["rows"].sum(), "weights": found["weights"].sum()}


@workflow(name="sdk.frames")
def frames(data: Dataset, options: Options = Options(), limits: List[int] = [1, 5]) -> Dict[str, float]:
    parts = split(data, options)
    tables = foreach(limits, lambda limit: keep(parts.frame, limit))
    return describe(fit(tables, parts.weights))
