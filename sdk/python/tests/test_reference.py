"""The reference in docs/python-reference.md is written from the docstrings.

Write it with `python -m tests.test_reference` in sdk/python.
"""

from __future__ import annotations

import enum
import inspect
import re
import textwrap
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

import flowforge
from flowforge import _options

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "python-reference.md"

GROUPS: Dict[str, Tuple[str, ...]] = {
    "Definitions": ("operator", "workflow", "Operator", "Workflow", "shell", "command", "http", "grpc", "sql", "sensor", "template_ref", "workflow_ref"),
    "Control flow": ("foreach", "when", "approval", "on_exit", "execution", "length", "status", "succeeded", "failed", "skipped", "completed", "all_failed", "any_succeeded"),
    "Options": ("Retry", "Cache", "Lock", "Breaker", "RetryBudget", "Schedule", "Window"),
    "Values": ("Dataset", "Model", "File", "Directory", "Table", "Image", "Report", "FeatureSet", "HyperparameterSet", "Secret", "Connection"),
    "Annotations": (
        "Range", "Length", "Pattern", "Format", "Unit", "Columns", "MediaTypes", "MaxBytes", "ConnectionKind", "CustomType", "Outputs", "Storage",
        "Label", "Help", "Placeholder", "Section", "Order", "Advanced", "Hidden", "Multiline", "ShowIf", "RequiredIf", "Limits", "Option", "Options", "OptionsFrom",
    ),
    "Runs": ("Run", "launch", "executions", "compare", "Sweep", "sweep", "sweeps"),
    "Lists": ("workflows", "versions", "inputs", "schedules", "models", "datasets"),
    "Catalogue": ("model", "dataset", "CatalogueVersion", "register_model", "register_dataset"),
    "Tasks": ("client", "Client", "FlowForgeClient", "TaskStatus", "LogLevel", "MetricType", "types"),
    "Errors": ("FlowForgeError", "DefinitionError", "ExecutionError", "InputError", "NotFoundError", "OutputError", "ServerError"),
}  # fmt: skip


# Members without an underscore that only this package uses.
_INTERNAL = {"Operator.pickle", "Operator.section", "Workflow.version", "File.has_value", "File.write"}
_MADE_BY_US = ("Operator", "Workflow", "Client", "CatalogueVersion")  # classes without a constructor for users


def reference() -> str:
    """Return the document."""
    blocks = ["# Python package reference", "Import all names from `flowforge`. [Workflows in Python](python.md) is the guide to this package."]
    for title, names in GROUPS.items():
        blocks.append(f"## {title}")
        if title == "Values":
            blocks += _paragraph("All files and folders have the members of `File`.")
        for name in names:
            blocks += [f"### {name}", *_entry(name, getattr(flowforge, name))]
    blocks.append("## Options of operators and workflows")
    for title, options in (("operator", _options.OperatorOptions), ("workflow", _options.WorkflowOptions)):
        blocks += _paragraph(f"`@{title}` has the options {', '.join(f'`{name}`' for name in options.__annotations__)}.")
    return "\n\n".join(blocks) + "\n"


def _entry(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, flowforge.Client):
        yield from _paragraph("The `Client` of this process.")
        return
    if inspect.isclass(value) and value.__name__ != name:
        yield from _paragraph(f"The same as `{value.__name__}`.")
        return
    plain = inspect.isfunction(value) or inspect.isclass(value) and not issubclass(value, (enum.Enum, Exception))
    if plain and name not in _MADE_BY_US:
        yield "```python\n" + _signature(name, value) + "\n```"
    yield from _text(value)
    if inspect.isclass(value) and issubclass(value, enum.Enum):
        yield from _paragraph(", ".join(f"`{member.name}`" for member in value) + ".")
    elif inspect.isclass(value) and name not in GROUPS["Annotations"]:
        lines = [_item(f"- `{member}`: {_escaped(function)}") for member, function in _members(name, value)]
        if lines:
            yield "\n".join(lines)


def _members(name: str, value: Any) -> Iterator[Tuple[str, Any]]:
    for member in sorted(dir(value)):
        found = inspect.getattr_static(value, member)
        function = found.fget if isinstance(found, property) else found
        inherited = name in GROUPS["Values"] and name != "File" and member not in vars(value)
        if member.startswith("_") or inherited or f"{name}.{member}" in _INTERNAL or not inspect.isfunction(function) or not inspect.getdoc(function):
            continue
        yield (member if isinstance(found, property) else member + _arguments(function)), function


def _signature(name: str, value: Any) -> str:
    text = name + _arguments(value)
    return text if len(text) <= 100 else "\n".join([name + "(", *(f"    {p}," for p in _parameters(value)), ")"])


def _arguments(value: Any) -> str:
    return f"({', '.join(_parameters(value))})"


def _parameters(value: Any) -> List[str]:
    try:
        found = [p for p in inspect.signature(value).parameters.values() if p.name != "self"]
    except ValueError:  # a class of the standard library
        return []
    texts, named = [], False
    for p in found:
        if p.kind is p.KEYWORD_ONLY and not named:
            texts.append("*")
        named = named or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        text = str(p.replace(annotation=p.empty, default=p.empty))
        texts.append(text if p.default is p.empty else f"{text}={p.default if isinstance(p.default, enum.Enum) else repr(p.default)}")
    return texts


def _text(value: Any) -> Iterator[str]:
    """Yield the paragraphs of a docstring. What follows a colon is code."""
    code = False
    for paragraph in re.split(r"\n\s*\n", inspect.getdoc(value) or ""):
        if code:
            yield "```python\n" + textwrap.dedent(paragraph) + "\n```"
        else:
            yield from _paragraph(paragraph.replace("<", "\\<"))
        code = paragraph.endswith(":")


def _paragraph(text: str) -> Iterator[str]:
    yield textwrap.fill(" ".join(text.split()), 100, break_long_words=False, break_on_hyphens=False)


def _item(text: str) -> str:
    return textwrap.fill(text, 100, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _escaped(value: Any) -> str:
    return " ".join((inspect.getdoc(value) or "").split()).replace("<", "\\<")


def test_every_name_is_in_the_reference() -> None:
    names = [name for group in GROUPS.values() for name in group]
    assert sorted(names) == sorted(flowforge.__all__)


def test_every_name_has_a_docstring() -> None:
    assert not [name for name in flowforge.__all__ if not inspect.getdoc(getattr(flowforge, name))]


def test_the_reference_is_written() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == reference(), "run: cd sdk/python && python -m tests.test_reference"


if __name__ == "__main__":
    DOCUMENT.write_text(reference(), encoding="utf-8")
