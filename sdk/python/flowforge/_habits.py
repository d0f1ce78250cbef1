"""Answers for names that other systems have, and FlowForge does not need."""

from __future__ import annotations

import sys
from typing import Any

from . import _place
from .exceptions import DefinitionError

_CALL = "call {name}(…): in a workflow, a call returns at once, and calls that do not depend on each other run in parallel"
_MAP = "write foreach(items, lambda item: {name}(item))"
_DEPLOY = "run `flowforge deploy` with the file"
_OPERATOR = {
    "submit": _CALL, "delay": _CALL, "remote": _CALL, "apply_async": _CALL, "fn": "call {name}(…) outside of a workflow: it is the function",
    "map": _MAP, "expand": _MAP, "starmap": _MAP, "with_options": "write {name}.options(…)", "override": "write {name}.options(…)",
}  # fmt: skip
_WORKFLOW = {
    "submit": "call {name}(…) in a workflow, or {name}.launch(…) to run it on the server", "serve": _DEPLOY, "deploy": _DEPLOY, "from_source": _DEPLOY, "to_deployment": _DEPLOY,
    "map": _MAP, "with_options": "write {name}.options(…)", "run": "call {name}(…) to run it here, or {name}.launch(…) to run it on the server",
}  # fmt: skip
_PRINT = "leave it out: print(…) and logging write to the log of the task"
_KEPT = "leave it out: results are always stored"
_NODE = "use name, or foreach, whose nodes have the index of their item"
_FAILED = "call another operator with {other}.options(after=failed(result)), or use on_exit(…), or a notification on the server"
_RETRY = "use retry=3 or retry=Retry(3, initial_delay=\"10s\", factor=2)"
_CACHE = "use cache=True or cache=Cache(ttl=\"1d\", ignore=[…]): the key contains the code and the inputs"
_OPTIONS = {
    "retries": _RETRY, "retry_delay_seconds": _RETRY, "retry_delay": _RETRY, "retry_exponential_backoff": _RETRY, "max_retries": _RETRY, "retry_jitter_factor": _RETRY,
    "retry_condition_fn": "use retry=Retry(…, condition=…), or raise the exception only if another attempt can succeed",
    "cache_key_fn": _CACHE, "cache_expiration": _CACHE, "cache_policy": _CACHE, "refresh_cache": "launch with cache=\"refresh\"", "memoize": _CACHE,
    "log_prints": _PRINT, "persist_result": _KEPT, "result_storage": "annotate the result with Storage(…)", "result_serializer": "return a value of a type with a format, or set pickle=True",
    "task_run_name": _NODE, "timeout_seconds": "use timeout=\"10m\" or seconds", "execution_timeout": "use timeout=\"10m\"", "time_limit": "use timeout=\"10m\"",
    "tags": "tags belong to workflows and executions; to limit how many nodes run at once, use locks=[…]",
    "on_failure": _FAILED, "on_completion": _FAILED, "on_crashed": _FAILED, "on_failure_callback": _FAILED, "on_success_callback": _FAILED, "on_rollback": _FAILED,
    "trigger_rule": "use after=any_succeeded(…), all_failed(…) or completed(…)", "depends_on": "use {name}.options(after=result)", "pip_packages": "use packages=[…]", "dependencies": "use packages=[…]",
    "num_cpus": "use cpu=…", "num_gpus": "use gpu=…", "requests": "use cpu=… and memory=…", "limits": "use cpu=… and memory=…",
}  # fmt: skip
_WORKFLOW_OPTIONS = {
    **{name: _OPTIONS[name] for name in ("log_prints", "persist_result", "timeout_seconds")},
    **dict.fromkeys(("retries", "retry_delay_seconds"), "use retry=… of @operator: a failed operator runs again, and not the whole workflow; retry_budget limits all retries"),
    **dict.fromkeys(("on_failure", "on_completion", "on_cancellation", "on_crashed", "on_running"), "call on_exit(lambda: …) in the workflow, or add a notification on the server"),
    **dict.fromkeys(("flow_run_name", "run_name"), "use the name of a launch: flowforge.launch(workflow, inputs, name=…)"),
    **dict.fromkeys(("validate_parameters", "catchup"), "leave it out"), "task_runner": "leave it out: independent operators run in parallel; limit them with parallelism",
    **dict.fromkeys(("cron", "interval", "schedule_interval", "start_date"), "use schedule=\"0 2 * * *\" or schedule=Schedule(…)"),
    "max_active_runs": "use max_running=1", "concurrency_limit": "use max_running=1", "dag_id": "use name=…",
}  # fmt: skip
_ARGUMENTS = {
    "wait_for": "write {name}.options(after=[…])(…)", "return_state": "leave it out; status(result) is the state of a node, and .options(allow_failure=True) lets the execution continue",
}  # fmt: skip
_CLIENT = {
    "log_metric": "client.metric(name, value, step=…)", "log_metrics": "client.metrics({…}, step=…)", "log_scalar": "client.metric(name, value, step=…)", "add_scalar": "client.metric(name, value, step=…)",
    **dict.fromkeys(("log_param", "log_params", "config"), "inputs of the workflow, which are recorded, or client.describe({…}) for other values"),
    **dict.fromkeys(("log_artifact", "log_artifacts", "save_model", "log_model"), "the result of the operator, or client.output(name, Path(…)) for a declared output"),
    **dict.fromkeys(("log_image", "log_figure", "log_table", "add_image", "add_figure", "Table", "create_markdown_artifact", "create_table_artifact"), "a result of the type Image, list[Image], Table or Report, such as return Image(figure)"),
    **dict.fromkeys(("set_tag", "set_tags"), "flowforge.launch(…, tags=[…]) or Run.label(add=[…])"),
    **dict.fromkeys(("set_experiment", "experiment"), "the name of the workflow, and tags"),
    **dict.fromkeys(("info", "warning", "error", "debug"), "client.log(message, level=…), print(…) or the module logging"),
    "summary": "results of the operator, or client.describe({…})",
}  # fmt: skip
_MODULE_CALLS = {
    **_CLIENT, "log": "client.log(message), or client.metrics({…}, step=…) for numbers",
    **dict.fromkeys(("init", "start_run", "run", "finish", "end_run"), "an operator in a workflow: each of its executions is a run"),
    "autolog": "client.metrics({…}, step=…) in a callback of the library",
    "get_run_logger": "client.log(…), print(…) or the module logging", "runs": "executions(…)", "search_runs": "executions(where=…)", "Api": "executions(…), Run(id) and compare([…])",
}  # fmt: skip
_RESULT = ("result", "wait", "get", "output", "outputs")
_MODULE = {
    "task": "operator", "step": "operator", "asset": "operator", "op": "operator", "flow": "workflow", "dag": "workflow", "job": "workflow",
    "FlowSpec": "workflow", "get_run_logger": "client.log(…) or print(…)", "unmapped": "foreach: values from outside of its lambda are the same for all items",
}  # fmt: skip


class Missing(DefinitionError, AttributeError):
    """There is no such attribute, but a way to do the same."""


def missing(owner: Any, attribute: str, operator: bool) -> AttributeError:
    """Return the error for an attribute that an operator or a workflow does not have."""
    name = str(owner.__dict__.get("__name__", "it"))
    answer = (_OPERATOR if operator else _WORKFLOW).get(attribute)
    if answer is None:
        return AttributeError(f"{type(owner).__name__} {name} has no attribute {attribute!r}")
    return Missing(str(_place.error(f"{name} has no {attribute}: {answer.format(name=name)}")))


def of_option(name: str, what: str, of: str) -> str:
    """Return what to use instead of an option of another system; "" if it is not known."""
    found = (_OPTIONS if what == "operator" else _WORKFLOW_OPTIONS).get(name, "")
    return found.format(name=of, other="notify" if of != "notify" else "tell")


def of_argument(name: str, of: str) -> str:
    """Return what to write instead of an argument that other systems add to every call; "" if it is not known."""
    return _ARGUMENTS.get(name, "").format(name=of)


def of_client(name: str) -> AttributeError:
    """Return the error for an attribute that the client does not have."""
    instead = _CLIENT.get(name)
    return AttributeError(f"client has no attribute {name!r}" + (f"; use {instead}" if instead else ""))


def of_module(name: str) -> AttributeError:
    """Return the error for a name that the package does not have."""
    instead = _MODULE_CALLS.get(name) or _MODULE.get(name)
    return AttributeError(f"module 'flowforge' has no attribute {name!r}" + (f"; use {instead}" if instead else ""))


def of_result(label: str, attribute: str) -> str:
    """Return what to do instead of asking a future for its value; "" if it was not asked."""
    if attribute not in _RESULT:
        return ""
    return f"{label} is a future, which has no {attribute}(): pass it to other operators as it is; they run when its value exists"


def of_import(err: ImportError) -> str:
    """Return what to import instead of a name of another system; "" if there is nothing."""
    missing = str(err).partition("cannot import name '")[2].partition("'")[0]
    instead = _MODULE.get(missing) if err.name == "flowforge" else None
    return f"; use {instead}" if instead else ""


def of_version(err: Exception) -> str:
    """Return which Python read the file, if a later version may accept it; otherwise ""."""
    python = f"Python {sys.version.split()[0]} ({sys.executable})"
    if isinstance(err, SyntaxError):
        return f". This command uses {python}"
    if isinstance(err, TypeError) and "unsupported operand type(s) for |" in str(err) and sys.version_info < (3, 10):
        return f". This command uses {python}, and X | Y in annotations needs Python 3.10: write Optional[X] or Union[X, Y]"
    return ""
