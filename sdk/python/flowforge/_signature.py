"""Reads the parameters and the results of a function as typed inputs and outputs."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import types
import typing
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Tuple, Union

from . import _annotations, _contained, _docstrings, _foreign, _handles, _hints, _place
from ._annotations import Read
from ._evaluate import evaluate
from ._schema import Type, optional_of
from ._unmapped import Unmapped

REQUIRED = inspect.Parameter.empty


@dataclass(frozen=True)
class Parameter:
    """One input of a function."""

    name: str
    type: Type
    default: Any
    description: str
    hints: Dict[str, Any]
    rules: Mapping[str, Any] = field(default_factory=dict)

    @property
    def required(self) -> bool:
        return self.default is REQUIRED


@dataclass(frozen=True)
class Result:
    """One output of a function."""

    name: str
    type: Type
    storage: str
    description: str


@dataclass(frozen=True)
class Signature:
    """The inputs and outputs of a function."""

    parameters: Tuple[Parameter, ...]
    results: Tuple[Result, ...]
    single: bool  # the function returns its only result itself
    returns: str  # the return annotation as written
    build: Callable[[List[Any]], Any]  # builds the return value from the results
    description: str
    annotated: bool  # there is a return annotation

    def parameter(self, name: str) -> Parameter:
        return next(p for p in self.parameters if p.name == name)

    def split(self, value: Any) -> List[Any]:
        """Take a returned value apart, in the order of the results."""
        if self.single or not self.results:
            return [value] if self.results else []
        if dataclasses.is_dataclass(value):
            more = _foreign.undeclared(value)
            if more:
                raise ValueError(f"it has the extra field {next(iter(more))!r}, which is no output; return a BaseModel of pydantic, which is one output with all fields")
            return [getattr(value, r.name) for r in self.results]
        values = list(value)
        if len(values) != len(self.results):
            raise ValueError(f"it returned {len(values)} values; its annotation declares {len(self.results)}")
        return values


class Signed:
    """Something with the signature of a function."""

    def _sign(self, function: Callable[..., Any], local_names: Mapping[str, Any], pickle: bool = False) -> None:
        """Read the signature. A task reads only what it uses: its version was registered, so it has no mistakes."""
        from . import client

        inside = client.inside
        self._read: Callable[[], Signature] = lambda: read(function, local_names, pickle, described=not inside)
        if not inside:
            self.signature

    def _described(self, what: str, name: str) -> str:
        return f"<{what} {name}({', '.join(p.name for p in self.signature.parameters)})>"

    @functools.cached_property
    def signature(self) -> Signature:
        """The inputs and outputs of the function."""
        return self._read()


def read(function: Callable[..., Any], local_names: Mapping[str, Any], pickle: bool, described: bool = True) -> Signature:
    """Read a function, and its docstring if described. Raises DefinitionError for what has no type."""
    place = _place.of_code(function.__code__)
    names = {**getattr(function, "__globals__", {}), **_closure(function)}
    description, texts = _docstrings.read(function.__doc__) if described else ("", {})
    try:
        declared, annotation = _declared(function)
    except NameError as err:  # Python 3.14 evaluates annotations here
        raise _place.error(f"{function.__name__}: {err} when its annotations are read; import it at the top of the file, outside `if TYPE_CHECKING`", place) from None
    reader = _Reader(function.__name__, place, names, local_names, pickle)
    parameters = []
    for p in declared:
        parameters.append(reader.parameter(p, texts.get(p.name, "")))
    annotated = annotation is not REQUIRED
    results, single, returns, build = reader.results(annotation if annotated else None)
    return Signature(tuple(parameters), tuple(results), single, returns, build, description, annotated)


class _Plain(NamedTuple):
    """What _Reader needs of an inspect.Parameter, which takes ten times as long to create."""

    name: str
    default: Any
    annotation: Any
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD


def _declared(function: Any) -> Tuple[Iterable[Union[_Plain, inspect.Parameter]], Any]:
    """Return the parameters and the return annotation, REQUIRED if there is none."""
    code = function.__code__
    stars = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    if type(function) is not types.FunctionType or function.__dict__ or stars or code.co_posonlyargcount:
        declared = inspect.signature(function)
        return declared.parameters.values(), declared.return_annotation
    positional = code.co_varnames[: code.co_argcount]
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    first = len(positional) - len(function.__defaults__ or ())
    defaults = {**dict(zip(positional[first:], function.__defaults__ or ())), **(function.__kwdefaults__ or {})}
    annotations = function.__annotations__
    parameters = [_Plain(name, defaults.get(name, REQUIRED), annotations.get(name, REQUIRED)) for name in names]
    return parameters, annotations.get("return", REQUIRED)


def _closure(function: Any) -> Dict[str, Any]:
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found


class _Reader:
    def __init__(self, function: str, place: str, names: Dict[str, Any], local_names: Mapping[str, Any], pickle: bool) -> None:
        self._function, self._place, self._pickle = function, place, pickle
        self._names, self._locals = names, local_names

    def _read(self, annotation: Any, what: str) -> Tuple[Any, Read]:
        try:
            annotation = evaluate(annotation, self._names, self._locals)
            return annotation, _annotations.read(annotation, self._pickle)
        except Unmapped as err:
            raise _place.error(f"{what} of {self._function}: {err}", self._place) from None
        except NameError as err:
            raise _place.error(
                f"{what} of {self._function}: {err} when the annotation {annotation!r} is read; import it at the top of the file, outside `if TYPE_CHECKING`",
                self._place,
            ) from None

    def parameter(self, p: Union[_Plain, inspect.Parameter], text: str) -> Parameter:
        what = f"parameter {p.name!r}"
        if p.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            stars, instead = ("*", "parameters or a list") if p.kind is inspect.Parameter.VAR_POSITIONAL else ("**", "parameters or a dict[str, …]")
            raise _place.error(f"{what} of {self._function}: inputs have names; replace {stars}{p.name} with {instead}", self._place)
        if p.kind is inspect.Parameter.POSITIONAL_ONLY:
            raise _place.error(f"{what} of {self._function} is positional-only, but inputs are passed by name; remove the / from its parameters", self._place)
        if p.annotation is REQUIRED:
            raise _place.error(f"{what} of {self._function} has no type; annotate it, such as {p.name}: float", self._place)
        _, found = self._read(p.annotation, what)
        t = found.type
        if p.default is None and t.kind != "JSON":
            t = optional_of(t)
        return Parameter(p.name, t, p.default, found.description or text, found.hints, found.rules)

    def results(self, annotation: Any) -> Tuple[List[Result], bool, str, Callable[[List[Any]], Any]]:
        if annotation is None or annotation == "None":
            return [], True, "None", lambda values: None
        annotation, outer = self._returned(annotation)
        if annotation is None or annotation is type(None):
            return [], True, "None", lambda values: None
        plain = annotation
        while typing.get_origin(plain) is typing.Annotated:
            plain = typing.get_args(plain)[0]
        several = self._several(plain, outer)
        if several is not None:
            return several
        _, found = self._read(annotation, "the result")
        name = found.outputs[0] if len(found.outputs) == 1 else "result"
        storage = found.storage or ("streaming" if found.type.stream else "")
        self._check(name, found.type)
        return [Result(name, found.type, storage, found.description)], True, _hints.spelled(plain), lambda values: values[0]

    def _returned(self, annotation: Any) -> Tuple[Any, Tuple[str, ...]]:
        """Return the annotation and the names that Outputs gives to a tuple."""
        try:
            annotation = evaluate(annotation, self._names, self._locals)
        except NameError:
            self._read(annotation, "the result")
        outer: Tuple[str, ...] = ()
        if typing.get_origin(annotation) is typing.Annotated:
            for word in typing.get_args(annotation)[1:]:
                outer = getattr(word, "names", outer) if type(word).__name__ == "Outputs" else outer
        return annotation, outer

    def _several(self, plain: Any, names: Tuple[str, ...]) -> Optional[Tuple[List[Result], bool, str, Callable[[List[Any]], Any]]]:
        returns = _hints.spelled(plain)
        args = typing.get_args(plain)
        if typing.get_origin(plain) is tuple and not (len(args) == 2 and args[1] is Ellipsis):
            names = names or tuple(f"output_{i}" for i in range(1, len(args) + 1))
            if len(names) != len(args):
                raise _place.error(f"{self._function} returns {len(args)} values, but Outputs names {len(names)}", self._place)
            return [self._result(n, a) for n, a in zip(names, args)], False, returns, tuple
        if isinstance(plain, type) and issubclass(plain, tuple) and hasattr(plain, "_fields"):
            hints = _hints.class_hints(plain)
            make: Any = plain
            return [self._result(n, hints[n]) for n in make._fields], False, returns, lambda values: make(*values)
        if isinstance(plain, type) and dataclasses.is_dataclass(plain) and not issubclass(plain, _handles.HyperparameterSet):
            hints = _hints.class_hints(plain)
            fields = [f.name for f in dataclasses.fields(plain) if f.init]
            build: Any = plain
            return [self._result(n, hints[n]) for n in fields], False, returns, lambda values: build(**dict(zip(fields, values)))
        return None

    def _result(self, name: str, annotation: Any) -> Result:
        _, found = self._read(annotation, f"the result {name!r}")
        self._check(name, found.type)
        return Result(name, found.type, found.storage or ("streaming" if found.type.stream else ""), found.description)

    def _check(self, name: str, t: Type) -> None:
        part = "" if t.inner.blob else _contained.unsupported(t)
        if part:
            raise _place.error(
                f"the result {name!r} of {self._function} contains files in {part}. Return them in a list, a dict, a dataclass or a NamedTuple, or as separate results",
                self._place,
            )
