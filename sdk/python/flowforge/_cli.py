"""The command line: flowforge export, run, dev, deploy, cancel and login."""

from __future__ import annotations

import argparse
import getpass
import importlib
import os
import sys
import traceback
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, TypeVar

from . import _api, _arguments, _dev, _follow, _habits, _launch, _pack, _traceback
from ._run import Run
from ._workflow import Workflow
from .exceptions import FlowForgeError, ServerError

T = TypeVar("T")


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run a command and return its exit code."""
    parser, commands = _parser()
    given = list(sys.argv[1:] if argv is None else argv)
    if given and not given[0].startswith("-") and given[0] not in commands:
        parser.error(
            f"the Python package has no command {given[0]!r}; its commands are: {', '.join(commands)}. The server's flowforge program has all commands. "
            "In Python, use functions such as flowforge.launch(…) and flowforge.executions(…)"
        )
    inputs: List[str] = []
    if "--" in given:  # an input with the name of an option follows --
        given, inputs = given[: given.index("--")], given[given.index("--") + 1 :]
    args, rest = parser.parse_known_args(given)
    rest += inputs
    if rest and args.command == "login":  # one of them is probably the key, so they are not repeated
        parser.error("login takes only the address of the server; type the API key when it asks, or pass the key on standard input")
    if rest and args.command != "run":
        parser.error(f"unknown arguments: {' '.join(rest)}")
    try:
        code: int = args.function(args, rest)
        return code
    except FlowForgeError as err:
        print(f"flowforge: {err}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return _follow.INTERRUPTED


def _parser() -> Tuple[argparse.ArgumentParser, List[str]]:
    """Return the parser and the names of the commands."""
    parser = argparse.ArgumentParser(prog="flowforge", description="Write, run and deploy workflows in Python.", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, function: Any, text: str, file: bool = True) -> argparse.ArgumentParser:
        # run also accepts the inputs of the workflow as options; -h after a file lists them.
        one = commands.add_parser(name, help=text, description=text, allow_abbrev=False, add_help=name != "run")
        one.set_defaults(function=function)
        if file:
            one.add_argument("file", nargs="?" if name == "run" else None, help="a Python file with a workflow")
            one.add_argument("--workflow", default="", help="function or name of the workflow, if the file contains several")
        if name != "export":
            one.add_argument("--server", default="", help="address of the server (FLOWFORGE_SERVER)")
            one.add_argument("--project", default="", help="ID, namespace, or team/project of the project (FLOWFORGE_PROJECT)")
        return one

    export = add("export", _export, "Write the definition of the workflow in a Python file as YAML.")
    export.add_argument("name", nargs="?", default="", help="same as --workflow")
    export.add_argument("-o", "--output", default="", help="output file (default: standard output)")
    run = add("run", _run, "Register the current files, launch the workflow, and follow the execution.")
    run.add_argument("--detach", action="store_true", help="exit after the launch instead of following the execution")
    dev = add("dev", _develop, "Register a development version each time you save the file. Its launch form reloads automatically.")
    dev.add_argument("--once", action="store_true", help="register the current files and exit")
    deploy = add("deploy", _deploy, "Register an immutable version and print the link to its launch form.")
    deploy.add_argument("--version", default="", help="version number (default: the next one)")
    cancel = add("cancel", _cancel, "Cancel an execution.", file=False)
    cancel.add_argument("execution", help="ID of the execution")
    login = add("login", _login, "Store an API key for a server.", file=False)
    login.add_argument("--token", action="store_true", help=argparse.SUPPRESS)  # of the server's command line, which has two ways to sign in
    login.add_argument("url", nargs="?", default="", help="address of the server")
    return parser, list(commands.choices)


def load(path: str) -> Any:
    """Import a user's file and return its module. Raises FlowForgeError."""
    file = Path(path).resolve()
    if file.is_dir():
        raise FlowForgeError(f"{path} is a folder; name the Python file with the workflow")
    if not file.is_file():
        raise FlowForgeError(f"the file {path} does not exist")
    if file.suffix == ".ipynb":
        raise FlowForgeError(f"{path} is a notebook: call launch() or deploy() of the workflow in one of its cells, or save the cells as a Python file")
    root, module = _pack.place_of(file)
    sys.path.insert(0, str(root))
    known = getattr(sys.modules.get(module), "__file__", None)
    if known and Path(known).resolve() != file:  # another file of the same name
        del sys.modules[module]
    return _user_code(lambda: importlib.import_module(module), f"{path} cannot be imported")


def _user_code(do: Callable[[], T], what: str) -> T:
    """Run user code. Print the traceback of an exception, without the frames of this package, and raise FlowForgeError."""
    try:
        return do()
    except FlowForgeError:
        raise
    except Exception as err:
        _traceback.trim(err, set())
        traceback.print_exception(type(err), err, err.__traceback__)
        hint = _habits.of_import(err) if isinstance(err, ImportError) else _habits.of_version(err)
        raise FlowForgeError(f"{what}: {type(err).__name__}: {err}{hint}") from None
    except SystemExit as err:  # would end the command as if it had succeeded
        _traceback.trim(err, set())
        traceback.print_exception(type(err), err, err.__traceback__)
        raise FlowForgeError(f'{what}: it ends the program; put what the file does as a script under `if __name__ == "__main__":`') from None


def choose(module: Any, path: str, name: str) -> Workflow[Any, Any]:
    """Return the workflow with this name from a module. Raises FlowForgeError."""
    every = {key: value for key, value in vars(module).items() if isinstance(value, Workflow)}
    own = {key: value for key, value in every.items() if value.__module__ == module.__name__} or every
    if not every:
        raise FlowForgeError(f"{path} has no function with @workflow")
    named = [w for key, w in every.items() if name in (key, w.name)]
    _check_names(own, path)
    if name and not named:
        raise FlowForgeError(f"{path} has no workflow {name!r}; its workflows are: {', '.join(every)}")
    if name:
        return named[0]
    outer = own if len({id(w.function) for w in own.values()}) == 1 else _outer(own)
    if len({id(w.function) for w in outer.values()}) != 1:
        raise FlowForgeError(f"{path} has several workflows; choose one with --workflow: {', '.join(outer or own)}")
    return next(iter(outer.values()))


def _outer(workflows: Mapping[str, Workflow[Any, Any]]) -> Dict[str, Workflow[Any, Any]]:
    """Return the workflows that no other one of them calls."""
    called = {part for one in workflows.values() for part in one.definition().parts - {id(one.function)}}
    return {key: one for key, one in workflows.items() if id(one.function) not in called}


def _check_names(workflows: Mapping[str, Workflow[Any, Any]], path: str) -> None:
    """Raise FlowForgeError if two workflows of a file would register versions of each other."""
    seen: Dict[str, Tuple[str, Any]] = {}
    for key, one in workflows.items():
        other, function = seen.setdefault(one.name, (key, one.function))
        if function is not one.function:
            raise FlowForgeError(f"{other} and {key} of {path} have the same name, {one.name}, so each would replace the other on the server; set @workflow(name=…)")


def _workflow(args: argparse.Namespace, name: str = "") -> Workflow[Any, Any]:
    """Return the workflow of the file, after its function ran once."""
    found = choose(load(args.file), args.file, name or args.workflow)
    _user_code(found.definition, f"the workflow {found.name} of {args.file} cannot be defined")
    return found


def _server(args: argparse.Namespace) -> _api.Server:
    return _api.Server(args.server, project=args.project)


def _export(args: argparse.Namespace, rest: List[str]) -> int:
    d = _workflow(args, args.name).definition()
    if not args.output:
        sys.stdout.write(d.yaml())
        return 0
    target = Path(args.output)
    target.write_text(d.yaml(target.resolve().parent), encoding="utf-8")
    return 0


def _run(args: argparse.Namespace, rest: List[str]) -> int:
    if not args.file:
        print("usage: flowforge run FILE [--workflow NAME] [--server URL] [--project PROJECT] [--detach] [--] [--INPUT VALUE …]")
        return 0 if {"-h", "--help"} & set(rest) else 2
    workflow = _workflow(args)
    inputs = _arguments.read(workflow, rest, f"flowforge run {args.file}")
    server = _server(args)
    run = _launch.launch(workflow, inputs, server)
    print(run.url, flush=True)
    return 0 if args.detach else _follow.follow(run, server)


def _develop(args: argparse.Namespace, rest: List[str]) -> int:
    if args.once:
        print(_dev.register(_workflow(args), _server(args)), flush=True)
        return 0
    given = {"--workflow": args.workflow, "--server": args.server, "--project": args.project}
    return _dev.watch(args.file, [f"{name}={value}" for name, value in given.items() if value])


def _deploy(args: argparse.Namespace, rest: List[str]) -> int:
    workflow = _workflow(args)
    found = _launch.deploy(workflow, args.version, _server(args), announce=print)
    print(found.url)
    return 0


def _cancel(args: argparse.Namespace, rest: List[str]) -> int:
    Run(args.execution, _server(args)).cancel()
    print(f"{args.execution} is being cancelled")
    return 0


def _login(args: argparse.Namespace, rest: List[str]) -> int:
    url = (args.url or args.server or os.environ.get("FLOWFORGE_SERVER") or _api.DEFAULT).rstrip("/")
    if sys.stdin.isatty():
        print(f"Create a key at {url}/account/keys.")
        token = getpass.getpass("API key: ").strip()
    else:
        token = sys.stdin.readline().strip()
    if not token:
        raise ServerError("no API key given: type it, or pass it on standard input")
    me = _api.Server(url, token).get("/me")
    path = _api.store_token(url, token, str(me.get("name", "")))
    print(f"Signed in to {url} as {me.get('name')}. The key is in {path}. Commands use this server unless FLOWFORGE_SERVER selects another.")
    return 0
