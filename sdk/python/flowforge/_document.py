"""Writes a traced graph as a definition, the document that the server registers."""

from __future__ import annotations

from typing import Any, Dict, List, Sequence, Tuple, Union

from . import _contained, _future
from ._graph import Foreach, Input, Node, NodeOutput, Output, Port, Rule, Scope, Tracer, Value, numbered
from ._place import error

Document = Dict[str, Any]


def graph(scope: Scope, tracer: Tracer) -> Document:
    """Return inputs, outputs and operators of a scope."""
    return _Writer(scope, tracer).write()


class _Writer:
    def __init__(self, scope: Scope, tracer: Tracer) -> None:
        self._scope, self._tracer = scope, tracer

    def write(self) -> Document:
        outputs = [self._output(o) for o in self._direct()]
        operators = [self._node(n) for n in self._scope.nodes if not n.final]
        last = [self._node(n) for n in self._scope.nodes if n.final]
        if not operators:
            raise error(f"the workflow {self._scope.name} calls no operator")
        document: Document = {}
        inputs = [_input(i) for i in self._scope.inputs]  # after the nodes, which may capture values
        if inputs:
            document["inputs"] = inputs
        if outputs:
            document["outputs"] = outputs
        document["operators"] = operators
        if last:
            document["on_exit"] = last
        return document

    def _direct(self) -> List[Output]:
        """Return the outputs. Add a node that passes on those that no operator produces."""
        others = [o for o in self._scope.outputs if o.value.kind != "output" or o.value.scope.home is not self._scope]
        if not others:
            return self._scope.outputs
        names = {o.name: _contained.places(o.type) or False for o in others}
        script = f"from flowforge._task import pass_on\n\npass_on({names!r})\n"
        section = {"type": "python", "description": "Passes on the results of the workflow.", "code": {"script": script}}
        node = Node(self._scope.unique("results"), self._scope, section)
        node.ports = [Port(o.name, o.type, o.value) for o in others]
        node.outputs = [NodeOutput(o.name, o.type) for o in others]
        self._scope.nodes.append(node)
        changed = [id(o) for o in others]
        return [
            Output(o.name, o.type, _future.output_value(node, o.name), o.description) if id(o) in changed else o
            for o in self._scope.outputs
        ]

    def _output(self, o: Output) -> Document:
        node = o.value.node
        assert node is not None
        entry = {"name": o.name, "type": o.type.text(), "from": f"{node.name}.{o.value.name}"}
        return {**entry, "description": o.description} if o.description else entry

    def _node(self, node: Node) -> Document:
        ports = list(node.ports)
        if node.body is not None:  # its graph lists what it captures
            self._tracer_document(node.body)
            ports += [Port(i.name, i.type, i.source) for i in node.body.inputs if i.source is not None]
        entry: Document = {"name": node.name, **{k: v for k, v in node.section.items() if k != "code"}}
        if node.foreach is not None:
            entry["foreach"] = self._foreach(node.foreach)
        if node.conditions:
            entry["when"] = self._whole(node.conditions[0]) if len(node.conditions) == 1 else " && ".join(map(self._text, node.conditions))
        entry.update(self._rules(node.rules))
        if ports:
            entry["inputs"] = [self._port(p, node) for p in ports]
        if node.outputs and node.section.get("type", "template") not in ("graph", "workflow", "approval", "template"):
            entry["outputs"] = [_output_entry(o) for o in node.outputs]
        if "code" in node.section:
            entry["code"] = node.section["code"]
        return entry

    def _tracer_document(self, body: Scope) -> None:
        documents = self._tracer.documents
        if body.name not in documents:
            documents[body.name] = {}  # a recursive graph names itself
            documents[body.name] = graph(body, self._tracer)

    def _foreach(self, loop: Foreach) -> Document:
        if isinstance(loop.items, range):
            r = loop.items
            if r.step > 0:
                entry: Document = {"range": {"from": r.start, "to": r[-1], **({"step": r.step} if r.step != 1 else {})}}
            else:
                entry = {"items": list(r)}
        elif isinstance(loop.items, Value):
            source = self._source(loop.items)
            entry = {"items": source["from"]} if "from" in source else source
        else:
            entry = {"items": loop.items}
        return {**entry, **loop.options}

    def _rules(self, rules: List[Rule]) -> Document:
        names = [part.name for rule in rules for part in rule.parts if isinstance(part, Value)]
        for rule in rules:
            for part in rule.parts:
                if isinstance(part, Value) and part.node is not None and part.node.scope.home is not self._scope:
                    raise error(f"after: {part.node.name} is in another workflow or foreach; a rule can only name operators in the same graph")
        if rules and all(len(rule.parts) == 1 for rule in rules):
            return {"depends_on": sorted({_node_name(rule.parts[0]) for rule in rules})}
        texts = ["".join(p if isinstance(p, str) else _node_name(p) for p in rule.parts) for rule in rules]
        return {"depends": " && ".join(texts)} if names else {}

    def _port(self, port: Port, node: Node) -> Document:
        entry: Document = {"name": port.name, "type": port.type.text()}
        value = port.value
        if value is None:
            return {**entry, "value": port.constant}
        if value.kind in ("item", "index") and node.foreach is not None and value.scope is node.foreach.body:
            return {**entry, "from": f"{value.kind}.{value.name}" if value.name else value.kind}
        return {**entry, **self._source(value)}

    def _source(self, value: Value) -> Document:
        found = self._locate(value)
        if found.kind == "output" and found.node is not None:
            return {"from": f"{found.node.name}.{found.name}"}
        if found.kind == "input" and not found.parts:
            return {"from": f"inputs.{found.name}"}
        if found.kind == "item":
            return {"from": f"item.{found.name}" if found.name else "item"}
        if found.kind == "index":
            return {"from": "index"}
        return {"expression": self._whole(found)}

    def _whole(self, value: Value) -> str:
        """Write a value as an expression of this scope, without parentheses around it."""
        found = self._locate(value)
        if found.kind == "expression" and found.parts[0] == "(" and found.parts[-1] == ")":  # they belong together
            return self._joined(found.parts[1:-1])
        return self._text(found)

    def _joined(self, parts: Sequence[Union[str, Value]]) -> str:
        return "".join(p if isinstance(p, str) else self._text(p) for p in parts)

    def _text(self, value: Value) -> str:
        """Write a value as part of an expression of this scope."""
        found = self._locate(value)
        if found.kind == "expression":
            return self._joined(found.parts)
        if found.kind == "output" and found.node is not None:
            return f"{_path('nodes', found.node.name)}.outputs.{found.name}"
        if found.kind == "node" and found.node is not None:
            return _path("nodes", found.node.name)
        if found.kind == "item":
            return f"item.{found.name}" if found.name else "item"
        if found.kind == "input":
            return f"inputs.{found.name}"
        return found.kind

    def _locate(self, value: Value) -> Value:
        """Return the value as this scope sees it: its own, or an input that captures it."""
        scope = self._scope
        if value.kind in ("item", "index") and value.scope.inlined is None:
            if value.scope is scope:
                return _of_input(scope, value)
        if value.kind == "expression" and not any(True for _ in value.leaves()):
            return value
        if value.scope.home is scope:
            return value
        if scope.parent is None:
            what = value.label if value.kind != "expression" else "an expression"
            raise error(f"{scope.name} uses {what} of {value.scope.name}; a sub-workflow sees only its parameters: pass the value as an argument")
        return self._captured(value)

    def _captured(self, value: Value) -> Value:
        scope = self._scope
        key: Tuple[Any, ...] = (value.kind, id(value.node), value.name, id(value.scope), _key(value))
        found = scope.captured.get(key)
        if found is None:
            name = value.name if value.kind == "input" else f"{value.node.name}_{value.name}" if value.node else value.kind
            found = Input(numbered(name.replace(".", "_").replace("-", "_"), [i.name for i in scope.inputs]), value.type, value)
            scope.captured[key] = found
            scope.inputs.append(found)
        return Value(scope, found.type, "input", found.name)


def _key(value: Value) -> Tuple[Any, ...]:
    return tuple(p if isinstance(p, str) else (p.kind, id(p.node), p.name, id(p.scope), _key(p)) for p in value.parts)


def _of_input(scope: Scope, value: Value) -> Value:
    """Return the input of a graph that has the item of its foreach, or the index."""
    source = next(i for i in scope.inputs if i.source is not None and i.source.kind == value.kind and i.source.scope is scope)
    whole = Value(scope, source.type, "input", source.name)
    if value.kind == "item" and value.name:
        return Value(scope, value.type, "expression", parts=(whole, f".{value.name}"))
    return whole


def _node_name(part: Any) -> str:
    assert isinstance(part, Value) and part.node is not None
    return part.node.name


def _path(first: str, name: str) -> str:
    return f'{first}["{name}"]' if "-" in name else f"{first}.{name}"


def _input(i: Input) -> Document:
    return {"name": i.name, "type": i.type.text(), **i.field}


def _output_entry(o: Any) -> Document:
    entry: Document = {"name": o.name, "type": o.type.text()}
    if o.storage:
        entry["storage"] = o.storage
    if o.description:
        entry["description"] = o.description
    return entry

