"""Metadata for Annotated that limits a value or describes its field in the launch form.

    lr: Annotated[float, Range(1e-4, 1, log=True), Label("Learning rate")] = 0.05
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Dict, Optional, Tuple, Union

from . import _place

Bound = Union[int, float, str, date, timedelta]


class Constraint:
    """Base class of the words that change the type of a value."""

    def params(self) -> Dict[str, Any]:
        """Return the parameters for the type expression."""
        return {}


class Hint:
    """Base class of the words that change only the field of the form."""

    def hints(self) -> Dict[str, Any]:
        """Return the keys for the ui section of the input."""
        return {}


@dataclass(frozen=True)
class Range(Constraint):
    """Limits for a number, date or duration.

    `min` and `max` are inclusive. `exclusive_min` and `exclusive_max` are limits for a number or a
    date that the value cannot equal. `log` selects a logarithmic slider. `step` only sets the increment of the form control: values
    between the steps are valid.
    """

    min: Optional[Bound] = None
    max: Optional[Bound] = None
    log: bool = False
    step: Optional[float] = None
    exclusive_min: Optional[Bound] = None
    exclusive_max: Optional[Bound] = None

    def params(self) -> Dict[str, Any]:
        return {
            "min": self.min, "max": self.max, "exclusive_min": self.exclusive_min, "exclusive_max": self.exclusive_max, "step": self.step, "log": True if self.log else None,
        }  # fmt: skip


@dataclass(frozen=True)
class Length(Constraint):
    """Inclusive limits for the length of a string or a list."""

    min: Optional[int] = None
    max: Optional[int] = None

    def params(self) -> Dict[str, Any]:
        return {"length": (self.min, self.max)}


@dataclass(frozen=True)
class Pattern(Constraint):
    """A regular expression (RE2) that the whole string must match."""

    regex: str

    def params(self) -> Dict[str, Any]:
        return {"pattern": self.regex}


@dataclass(frozen=True)
class Unit(Constraint):
    """The unit of a number, shown after its value."""

    name: str

    def params(self) -> Dict[str, Any]:
        return {"unit": self.name}


@dataclass(frozen=True)
class Format(Constraint):
    """The format of a string (email, uri, …) or of a file (csv, parquet, …)."""

    name: str

    def params(self) -> Dict[str, Any]:
        return {"format": self.name}


@dataclass(frozen=True)
class Multiline(Constraint):
    """Allow line breaks in the string."""

    def params(self) -> Dict[str, Any]:
        return {"multiline": True}


@dataclass(frozen=True)
class MediaTypes(Constraint):
    """The media types that an upload may have, such as "image/*"."""

    names: Tuple[str, ...]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", names)

    def params(self) -> Dict[str, Any]:
        return {"media_types": list(self.names)}


@dataclass(frozen=True)
class MaxBytes(Constraint):
    """The maximum size of an upload, in bytes."""

    size: int

    def params(self) -> Dict[str, Any]:
        return {"max_bytes": self.size}


@dataclass(frozen=True)
class ConnectionKind(Constraint):
    """The kind of a connection: postgres, clickhouse, s3, http, grpc, huggingface or custom."""

    name: str

    def params(self) -> Dict[str, Any]:
        return {"kind": self.name}


class CustomType(Constraint):
    """The value has a custom type: Annotated[float, CustomType("Rate")] is one that is registered on the server.

    With register=True, a description or a renderer, the annotation declares the type:
    Annotated[float, Range(0, 1), CustomType("Rate", renderer="rate.html")]. Deploying or launching
    the workflow registers it. `renderer` is an HTML page that shows values, relative to the Python
    file, and with `inputs`, launch forms use it to enter them. Raises DefinitionError if the page
    does not exist.
    """

    def __init__(self, name: str, *, register: bool = False, description: str = "", renderer: Union[str, "os.PathLike[str]", None] = None, inputs: bool = False) -> None:
        self.name, self.description, self.inputs = name, description, inputs
        self.declares = register or bool(description) or renderer is not None
        self.place = _place.here()
        self.renderer = None if renderer is None else _page(renderer, name)

    def __repr__(self) -> str:
        return f"CustomType({self.name!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CustomType) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(self.name)


def _page(renderer: Union[str, "os.PathLike[str]"], name: str) -> Path:
    """Return the file of a page, relative to the file of the user's call. Tasks do not read it."""
    frame = _place.caller()
    folder = Path(frame.f_code.co_filename).parent if frame is not None and not _place.cell(frame.f_code.co_filename) else Path()
    path = (folder / renderer).resolve()
    if not os.environ.get("FLOWFORGE_TASK_ID") and not path.is_file():
        raise _place.error(f"the renderer of {name} does not exist: {path}")
    return path


@dataclass(frozen=True)
class Label(Hint):
    """The label of the field."""

    text: str

    def hints(self) -> Dict[str, Any]:
        return {"label": self.text}


@dataclass(frozen=True)
class Help(Hint):
    """Help text for the field: one sentence about what to enter."""

    text: str

    def hints(self) -> Dict[str, Any]:
        return {"help": self.text}


@dataclass(frozen=True)
class Placeholder(Hint):
    """Text that is shown while the field is empty."""

    text: str

    def hints(self) -> Dict[str, Any]:
        return {"placeholder": self.text}


@dataclass(frozen=True)
class Section(Hint):
    """The form section that contains the field."""

    name: str

    def hints(self) -> Dict[str, Any]:
        return {"section": self.name}


@dataclass(frozen=True)
class Order(Hint):
    """The position of the field within its section."""

    number: int

    def hints(self) -> Dict[str, Any]:
        return {"order": self.number}


@dataclass(frozen=True)
class Advanced(Hint):
    """Show the field among the advanced settings."""

    def hints(self) -> Dict[str, Any]:
        return {"advanced": True}


@dataclass(frozen=True)
class Hidden(Hint):
    """Hide the field in the form."""

    def hints(self) -> Dict[str, Any]:
        return {"hidden": True}


class Rule:
    """Base class of the words that make an input depend on other inputs.

    Expressions name the other parameters: "kind == 'svc'". The server evaluates them at a launch;
    calls in plain Python do not.
    """

    def rules(self) -> Dict[str, Any]:
        """Return the keys for the input."""
        return {}


@dataclass(frozen=True)
class ShowIf(Rule):
    """The parameter applies only if the expression is true; otherwise, it has its default."""

    expression: str

    def rules(self) -> Dict[str, Any]:
        return {"show_if": self.expression}


@dataclass(frozen=True)
class RequiredIf(Rule):
    """The parameter requires a value if the expression is true."""

    expression: str

    def rules(self) -> Dict[str, Any]:
        return {"required_if": self.expression}


@dataclass(frozen=True)
class Limits(Rule):
    """Limits for a number or a date that depend on other parameters."""

    min: Optional[str] = None
    max: Optional[str] = None

    def rules(self) -> Dict[str, Any]:
        return {key: text for key, text in (("min", self.min), ("max", self.max)) if text is not None}


@dataclass(frozen=True)
class OptionsFrom(Rule):
    """An expression that returns the list of possible values."""

    expression: str

    def rules(self) -> Dict[str, Any]:
        return {"options": self.expression}


@dataclass(frozen=True)
class Option:
    """A possible value with a label and a description for the launch form."""

    value: Any
    label: Optional[str] = None
    description: Optional[str] = None

    def document(self) -> Dict[str, Any]:
        """Return the option as the definition has it."""
        return {key: v for key, v in vars(self).items() if v is not None or key == "value"}


class Options(Rule):
    """The possible values of a parameter: a list of values, or a source from which the server reads them.

    Options("rbf", Option("linear", label="Linear")) is a list, Options(from_="executions",
    value="inputs.seed") is a query, and Options(http="https://…", value=".id") is an endpoint.
    Options(workflow="digits.checkpoints", inputs={"kernel": "{{kernel}}"}) runs a workflow of the same
    project, whose output is the list.
    With free=True, the options are suggestions, and other values are allowed.
    """

    def __init__(
        self,
        *values: Any,
        from_: Optional[str] = None,
        where: Optional[str] = None,
        http: Optional[str] = None,
        workflow: Optional[str] = None,
        inputs: Optional[Dict[str, Any]] = None,
        items: Optional[str] = None,
        value: Optional[str] = None,
        label: Optional[str] = None,
        description: Optional[str] = None,
        preview: Tuple[str, ...] = (),
        timeout: Optional[str] = None,
        cache: Optional[str] = None,
        free: bool = False,
    ) -> None:
        listed = [v.document() if isinstance(v, Option) else v for v in values]
        source = {
            "values": listed, "from": from_, "where": where, "http": http, "workflow": workflow, "inputs": inputs, "items": items,
            "value": value, "label": label, "description": description, "preview": list(preview), "timeout": timeout, "cache": cache,
        }
        self._source: Dict[str, Any] = {key: v for key, v in source.items() if v}
        if free:
            self._source["free"] = True

    def rules(self) -> Dict[str, Any]:
        return {"options": self._source}


@dataclass(frozen=True)
class Storage:
    """The storage of an output: memory, disk, distributed or streaming."""

    name: str


@dataclass(frozen=True)
class Outputs:
    """Names for the values of a tuple: -> Annotated[tuple[Model, float], Outputs("model", "accuracy")]."""

    names: Tuple[str, ...]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", names)
