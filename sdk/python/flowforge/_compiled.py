"""Compiles the files of code packages once, for the forks that import them.

A fork uses the compiled code of a file only if it reads exactly the same source, so that it makes
no difference who has compiled it. Nothing is executed before a fork does.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from importlib.machinery import BYTECODE_SUFFIXES, EXTENSION_SUFFIXES, SOURCE_SUFFIXES, ExtensionFileLoader, FileFinder, SourceFileLoader, SourcelessFileLoader
from types import CodeType
from typing import Any, Dict, Optional

_LARGEST = 100_000  # bytes of a file
_MOST = 50  # files

_imp: Any = importlib.import_module("_imp")
_compiled: Dict[bytes, CodeType] = {}  # by source


def remember(folder: str) -> None:
    """Compile the files in a folder."""
    try:
        paths = [entry.path for entry in os.scandir(folder) if entry.name.endswith(".py") and entry.is_file() and entry.stat().st_size <= _LARGEST]
        for path in paths[:_MOST]:
            with open(path, "rb") as file:
                _compile(file.read(), path)
    except OSError:
        pass  # the folder has been removed


def _compile(source: bytes, path: str) -> None:
    """Compile a file. A fork compiles a file with an error or a warning itself, and shows it."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            code = compile(source, path, "exec", dont_inherit=True)
        except Exception:
            return
    if not found:
        _compiled[source] = code
    if len(_compiled) > _MOST:
        del _compiled[next(iter(_compiled))]


class _Loader(SourceFileLoader):
    code: Optional[CodeType] = None

    def get_code(self, fullname: str) -> Optional[CodeType]:
        code, self.code = self.code, None
        return code or super().get_code(fullname)


def _loader(name: str, path: str) -> SourceFileLoader:
    try:
        with open(path, "rb", 0) as file:
            source = file.read()
    except OSError:
        return SourceFileLoader(name, path)
    code = _compiled.pop(source, None)  # another file with the same source gets its own
    if code is None:
        return SourceFileLoader(name, path)
    _imp._fix_co_filename(code, path)
    loader = _Loader(name, path)
    loader.code = code
    return loader


def use_in(folder: str) -> None:
    """Let imports from a folder use the compiled code."""
    if _compiled:
        loaders: Any = (ExtensionFileLoader, EXTENSION_SUFFIXES), (_loader, SOURCE_SUFFIXES), (SourcelessFileLoader, BYTECODE_SUFFIXES)
        sys.path_importer_cache[folder] = FileFinder(folder, *loaders)
