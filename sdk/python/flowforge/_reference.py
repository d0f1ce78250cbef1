"""Operators that are not Python: programs, shell scripts, requests, statements, waits, and what is registered.

Each is a decorator of a function without a body, whose signature declares the inputs and
outputs:

    @shell('echo "rate $FLOWFORGE_PARAM_RATE"')
    def announce(rate: float) -> None: ...

A function with a result raises NotImplementedError, so that type checkers accept it. It never runs.
"""

from __future__ import annotations

import base64
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Callable, Dict, Generic, Mapping, Optional, Sequence, TypeVar, Union, cast

from . import _future, _graph, _options, _place, _times, _wire
from ._graph import NodeOutput
from ._operator import add_node
from ._place import error
from ._signature import Signed

if TYPE_CHECKING:
    from typing_extensions import ParamSpec, Unpack

    from ._options import OperatorOptions

    P = ParamSpec("P")
else:
    P = TypeVar("P")
R = TypeVar("R")


_PROGRAMS = ("shell", "command")  # operator types with code, which can run in an image
_USELESS = {
    "image": "only programs run in an image",
    "packages": "only Python operators install packages",
    "requirements": "only Python operators install packages",
    "pickle": "only Python operators pass values as pickles",
}


class Reference(Signed, Generic[P, R]):
    """A node that runs something that is not a Python function."""

    def __init__(self, function: Callable[P, R], section: Mapping[str, Any], options: Mapping[str, Any], names: Mapping[str, Any]) -> None:
        self.function = function
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self._section = dict(section)
        self._options = self._checked(options)
        self._sign(function, names)

    def __repr__(self) -> str:
        return self._described("operator", str(self._options.get("name") or self.__name__))

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        tracer = _graph.tracer()
        if tracer is None:
            return self._plain(_wire.bind(self.function, args, kwargs))
        given = _wire.bind(self.function, args, kwargs)
        section = {**self._section, **_options.operator_section(self._options)}
        if self._options.get("image"):
            section["code"] = {**section["code"], "image": self._options["image"]}
        description = self._options.get("description") or self.signature.description
        if description:
            section = {"type": section.pop("type", None), "description": description, **section}
        node = add_node(tracer, str(self._options.get("name") or self.__name__), {k: v for k, v in section.items() if v is not None}, self._options.get("after"))
        node.ports, assemblies = _wire.wire(node.name, self.signature, given)
        if assemblies:
            raise error(f"{self.__name__}: {next(iter(assemblies))} is built from several values, which only Python operators can read; pass the values as separate parameters")
        node.outputs = [NodeOutput(r.name, r.type, r.storage, r.description) for r in self.signature.results]
        found: R = _future.result(node, self.signature.returns, self.signature.single)
        return found

    def options(self, **options: Unpack[OperatorOptions]) -> Reference[P, R]:
        """Return the same operator with other options."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._options = {**self._options, **self._checked(options)}
        return copy

    @property
    def _kind(self) -> str:
        return str(self._section.get("type") or "template")

    def _checked(self, options: Mapping[str, Any]) -> Dict[str, Any]:
        """Return the options. Raises DefinitionError for those that this kind of operator cannot use."""
        _options.check(options, "operator", self.__name__)
        for name in options:
            why = _USELESS.get(name)
            if why and not (name == "image" and self._kind in _PROGRAMS):
                raise error(f"{self.__name__}: an operator of type {self._kind} has no option {name!r}, because {why}; remove it")
        return dict(options)

    def _plain(self, given: Dict[str, Any]) -> R:
        if self._kind in _PROGRAMS:
            from . import _programs

            return cast(R, _programs.run(self._section, self._options, self.signature, given))
        raise error(f"{self.__name__} ({self._kind}) runs only on the server; launch the workflow, or replace {self.__name__} in a test")


def _decorator(section: Mapping[str, Any], options: Mapping[str, Any]) -> Callable[[Callable[P, R]], Reference[P, R]]:
    frame = _place.caller()
    names = dict(frame.f_locals) if frame is not None else {}
    return lambda function: Reference(function, section, options, names)


def shell(script: str, **options: Unpack[OperatorOptions]) -> Callable[[Callable[P, R]], Reference[P, R]]:
    """An operator that runs a shell script.

    The script reads each input from FLOWFORGE_PARAM_<NAME> and writes each output to a file or
    folder <name> in $FLOWFORGE_OUTPUTS. In plain Python, the script runs on this machine.
    """
    return _decorator({"type": "shell", "code": {"script": script}}, options)


def command(*argv: str, **options: Unpack[OperatorOptions]) -> Callable[[Callable[P, R]], Reference[P, R]]:
    """An operator that runs a program: @command("make", "report", image="…")."""
    return _decorator({"type": "command", "code": {"command": list(argv)} if argv else {}}, options)


def http(
    url: str,
    *,
    method: str = "GET",
    connection: str = "",
    headers: Optional[Mapping[str, str]] = None,
    body: Any = None,
    success: Sequence[int] = (),
    condition: str = "",
    next_page: str = "",
    items: str = "",
    max_pages: Optional[int] = None,
    max_size: str = "",
    retry_status: Sequence[int] = (),
    retry_limit: Optional[int] = None,
    retry_max_delay: Union[str, float, timedelta, None] = None,
    **options: Unpack[OperatorOptions],
) -> Callable[[Callable[P, R]], Reference[P, R]]:
    """An operator that makes an HTTP request.

    `url`, `headers` and `body` can contain the function's parameters as tags: {{name}}. With a
    parameter of type Connection, `url` is a path below its base URL; `connection` names the
    parameter if there are several. `condition` is an expression over status, headers and body
    that must be true. `next_page` is an expression that finds the next page, such as "link.next";
    the output `body` is then the list of the `items` of all pages. After a response with a status
    code in `retry_status`, the operator sends the request again, but not before the time in the
    header Retry-After.
    """
    request: Dict[str, Any] = {"method": method, "url": url}
    if retry_status:
        delay = None if retry_max_delay is None else _times.span(retry_max_delay)
        request["retry"] = {k: v for k, v in (("status", list(retry_status)), ("limit", retry_limit), ("max_delay", delay)) if v is not None}
    elif retry_limit is not None or retry_max_delay is not None:
        raise error("http: retry_limit and retry_max_delay have no effect without retry_status")
    if next_page:
        request["pages"] = {k: v for k, v in (("next", next_page), ("items", items), ("limit", max_pages)) if v}
    elif items or max_pages is not None:
        raise error("http: items and max_pages have no effect without next_page")
    given = {"connection": connection, "headers": dict(headers or {}), "body": body, "success": list(success), "condition": condition, "max_size": max_size}
    request.update({k: v for k, v in given.items() if v})
    return _decorator({"type": "http", "http": request}, options)


def sql(
    query: str,
    *,
    connection: str = "",
    read_only: bool = True,
    max_rows: Optional[int] = None,
    max_size: str = "",
    statement_timeout: Union[str, float, timedelta, None] = None,
    **options: Unpack[OperatorOptions],
) -> Callable[[Callable[P, R]], Reference[P, R]]:
    """An operator that runs one statement in a database.

    The query reads each parameter of the function as @name (PostgreSQL) or {name:Type}
    (ClickHouse). `connection` names the parameter with the connection if there are several.
    The output `result` is a Parquet file, and the output `rows` is the number of rows.
    """
    statement: Dict[str, Any] = {"query": query}
    given = {"connection": connection, "max_rows": max_rows, "max_size": max_size, "statement_timeout": None if statement_timeout is None else _times.span(statement_timeout)}
    statement.update({k: v for k, v in given.items() if v})
    if not read_only:
        statement["read_only"] = False
    return _decorator({"type": "sql", "sql": statement}, options)


def grpc(
    method: str,
    *,
    address: str = "",
    message: Optional[Mapping[str, Any]] = None,
    connection: str = "",
    metadata: Optional[Mapping[str, str]] = None,
    deadline: Union[str, float, timedelta, None] = None,
    plaintext: bool = False,
    ca: str = "",
    server_name: str = "",
    descriptors: Optional[bytes] = None,
    condition: str = "",
    max_size: str = "",
    retry_status: Sequence[str] = (),
    retry_limit: Optional[int] = None,
    retry_max_delay: Union[str, float, timedelta, None] = None,
    **options: Unpack[OperatorOptions],
) -> Callable[[Callable[P, R]], Reference[P, R]]:
    """An operator that calls a unary gRPC method, such as "package.Service/Method".

    `message` and `metadata` can contain the function's parameters as tags: {{name}}. The server
    is `address` (host:port) or a parameter of type Connection. FlowForge reads the types of the
    method through server reflection, or from `descriptors`, a serialized FileDescriptorSet.
    `condition` is an expression over body and metadata that must be true. The output `body` is
    the response as JSON. After a status code in `retry_status`, the operator repeats the call.
    """
    section: Dict[str, Any] = {"method": method}
    if retry_status:
        delay = None if retry_max_delay is None else _times.span(retry_max_delay)
        section["retry"] = {k: v for k, v in (("status", list(retry_status)), ("limit", retry_limit), ("max_delay", delay)) if v is not None}
    elif retry_limit is not None or retry_max_delay is not None:
        raise error("grpc: retry_limit and retry_max_delay have no effect without retry_status")
    given = {
        "address": address, "message": dict(message or {}), "connection": connection, "metadata": dict(metadata or {}),
        "deadline": None if deadline is None else _times.span(deadline), "plaintext": plaintext, "ca": ca, "server_name": server_name,
        "descriptors": base64.b64encode(descriptors).decode() if descriptors else "", "condition": condition, "max_size": max_size,
    }
    section.update({k: v for k, v in given.items() if v})
    return _decorator({"type": "grpc", "grpc": section}, options)


def sensor(
    *,
    url: str = "",
    condition: str = "",
    method: str = "",
    headers: Optional[Mapping[str, str]] = None,
    body: Any = None,
    success: Sequence[int] = (),
    query: str = "",
    key: str = "",
    prefix: str = "",
    bucket: str = "",
    until: str = "",
    execution: str = "",
    workflow: str = "",
    since: str = "",
    state: str = "",
    connection: str = "",
    interval: Union[str, float, timedelta, None] = None,
    factor: Optional[float] = None,
    max_interval: Union[str, float, timedelta, None] = None,
    wait_timeout: Union[str, float, timedelta, None] = None,
    on_timeout: str = "",
    **options: Unpack[OperatorOptions],
) -> Callable[[Callable[P, R]], Reference[P, R]]:
    """An operator that waits for a condition. It uses no resources while it waits.

    Set one of `url` (an HTTP response is accepted and meets `condition`), `query` (the first value of
    an SQL statement is true), `key` or `prefix` (an object exists in the bucket of an S3
    connection), `until` (a time), and `execution` or `workflow` (an execution has ended in
    `state`). Strings can contain the function's parameters as tags: {{name}}. The sensor polls after
    each `interval`, which grows by `factor` up to `max_interval`. After `wait_timeout`, it fails,
    or is skipped with on_timeout="skip". The option `timeout` limits one poll.
    """
    section: Dict[str, Any] = {}
    parts: Dict[str, Dict[str, Any]] = {
        "http": {"url": url, "condition": condition, "method": method, "headers": dict(headers or {}), "body": body, "success": list(success)},
        "sql": {"query": query},
        "object": {"key": key, "prefix": prefix, "bucket": bucket},
        "execution": {"id": execution, "workflow": workflow, "since": since, "state": state},
    }
    for name, part in parts.items():
        given = {k: v for k, v in part.items() if v}
        if given:
            section[name] = {**given, "connection": connection} if connection and name != "execution" else given
    if until:
        section["until"] = until
    if len(section) != 1:
        raise error("sensor: set what it waits for: one of url, query, key, prefix, until, execution and workflow")
    spans = {"interval": interval, "max_interval": max_interval, "timeout": wait_timeout}
    section.update({k: _times.span(v) for k, v in spans.items() if v is not None})
    section.update({k: v for k, v in (("factor", factor), ("on_timeout", on_timeout)) if v})
    return _decorator({"type": "sensor", "sensor": section}, options)


def workflow_ref(reference: str) -> Callable[[Callable[P, R]], Reference[P, R]]:
    """A registered workflow as an operator: workflow_ref("prepare@1.2.0").

    Without a version, FlowForge uses the latest version at the time of registration.
    """
    return _decorator({"type": "workflow", "workflow": reference}, {})


def template_ref(reference: str, **options: Unpack[OperatorOptions]) -> Callable[[Callable[P, R]], Reference[P, R]]:
    """A registered operator template: template_ref("scale@2.0.0")."""
    return _decorator({"template": reference}, options)
