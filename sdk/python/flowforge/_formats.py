"""Chooses file formats for values, and writes and reads them.

A format's library is imported only when a value needs it.
"""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any, Callable, Dict, NamedTuple, Optional

from . import _figures
from .exceptions import InputError, OutputError

# Tables below this size are written as Arrow, which needs no unpacking. Larger tables are
# written as Parquet with zstd, which is smaller to transfer.
ARROW_LIMIT = 100 * 1024 * 1024


class Format(NamedTuple):
    """A file format with its functions to write and to read values."""

    extension: str
    write: Callable[[Any, Path], None]
    read: Callable[[Path], Any]
    code: bool = False  # reading may run code from the file


def _write_json(value: Any, path: Path) -> None:
    path.write_text(json.dumps(value, allow_nan=False), encoding="utf-8")


def _read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _table(value: Any) -> Any:
    import pyarrow

    if library(type(value)) != "pandas":
        return value
    for column, kind in value.dtypes.items():
        if str(getattr(getattr(kind, "categories", None), "dtype", "")).startswith("interval"):
            raise ValueError(f"the categories of column {column!r} are intervals, as pandas.cut makes them, which Arrow cannot represent; convert the column with .astype(str)")
    return pyarrow.Table.from_pandas(value)


def _write_arrow(value: Any, path: Path) -> None:
    import pyarrow.feather

    pyarrow.feather.write_feather(_table(value), str(path), compression="uncompressed")


def _read_arrow(path: Path) -> Any:
    import pyarrow.feather

    return _as_written(pyarrow.feather.read_table(str(path), memory_map=True))


def _write_parquet(value: Any, path: Path) -> None:
    import pyarrow.parquet

    pyarrow.parquet.write_table(_table(value), str(path), compression="zstd")


def _read_parquet(path: Path) -> Any:
    import pyarrow.parquet

    return _as_written(pyarrow.parquet.read_table(str(path)))


def _as_written(table: Any) -> Any:
    """Return a data frame if one was written, otherwise the table."""
    if b"pandas" in (table.schema.metadata or {}):
        return table.to_pandas()
    return table


def _write_pickle(value: Any, path: Path) -> None:
    with path.open("wb") as file:
        pickle.dump(value, file, protocol=pickle.HIGHEST_PROTOCOL)


def _read_pickle(path: Path) -> Any:
    with path.open("rb") as file:
        return pickle.load(file)


def _write_npz(value: Any, path: Path) -> None:
    import numpy

    arrays: Dict[str, Any] = {name: numpy.asarray(one) for name, one in (value if isinstance(value, dict) else {"array": value}).items()}
    if any(one.dtype.hasobject for one in arrays.values()):
        raise ValueError("an array of Python objects can only be a pickle; convert it to an array of numbers or strings, or set pickle=True on the operator")
    with path.open("wb") as file:
        numpy.savez(file, **arrays)


def _read_npz(path: Path) -> Any:
    import numpy

    with numpy.load(path, allow_pickle=False) as found:
        arrays: Dict[str, Any] = {name: found[name] for name in found.files}
    return arrays["array"] if list(arrays) == ["array"] else arrays


def _read_npy(path: Path) -> Any:
    import numpy

    return numpy.load(path, allow_pickle=False)


def _write_npy(value: Any, path: Path) -> None:
    import numpy

    with path.open("wb") as file:
        numpy.save(file, value, allow_pickle=False)


def _write_torch(value: Any, path: Path) -> None:
    import torch

    torch.save(value, str(path))


def _read_torch(path: Path) -> Any:
    import torch

    return torch.load(str(path), weights_only=True, map_location="cpu")


def _write_png(value: Any, path: Path) -> None:
    path.write_bytes(_figures.png(value))


def _write_raw(value: Any, path: Path) -> None:
    path.write_bytes(value)


FORMATS: Dict[str, Format] = {
    "json": Format(".json", _write_json, _read_json),
    "arrow": Format(".arrow", _write_arrow, _read_arrow),
    "parquet": Format(".parquet", _write_parquet, _read_parquet),
    "pickle": Format(".pkl", _write_pickle, _read_pickle, code=True),
    "npz": Format(".npz", _write_npz, _read_npz),
    "npy": Format(".npy", _write_npy, _read_npy),
    "torch": Format(".pt", _write_torch, _read_torch),
    "png": Format(".png", _write_png, Path.read_bytes),
    "raw": Format(".bin", _write_raw, Path.read_bytes),
}

_OTHER_NAMES = {".feather": "arrow", ".ipc": "arrow", ".pq": "parquet", ".pickle": "pickle", ".pth": "torch"}


def library(cls: type) -> str:
    """Return the name of the package that defines a class."""
    return cls.__module__.partition(".")[0]


def is_torch(cls: type) -> bool:
    """Whether cls is a class of torch or a subclass of one."""
    return any(library(base) == "torch" for base in cls.__mro__)


def has_format(value: Any) -> bool:
    """Whether a value has a format other than pickle. Unlike format_for, it does not measure tables."""
    table = library(type(value)) in ("pandas", "pyarrow") and type(value).__name__ in ("DataFrame", "Table")
    return table or is_torch(type(value)) or format_for(value) is not None


def format_for(value: Any) -> Optional[str]:
    """Return the name of a suitable format for a value, or None if there is none."""
    package, kind = library(type(value)), type(value).__name__
    if package == "pandas" and kind == "DataFrame":
        return "arrow" if int(value.memory_usage(index=True, deep=True).sum()) < ARROW_LIMIT else "parquet"
    if package == "pyarrow" and kind == "Table":
        return "arrow" if value.nbytes < ARROW_LIMIT else "parquet"
    if package == "numpy" and kind == "ndarray":
        return None if value.dtype.hasobject else "npz"
    if package == "torch":
        return "torch"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "raw"
    if _figures.is_picture(value):
        return "png"
    if isinstance(value, dict) and value:
        inside = {library(type(item)) for item in value.values()}
        if inside == {"torch"}:
            return "torch"
        if inside == {"numpy"} and all(format_for(item) == "npz" and isinstance(name, str) for name, item in value.items()):
            return "npz"
    if value is None or isinstance(value, (bool, int, float, str, list, tuple, dict)):
        return "json"
    return None


def write(value: Any, folder: Path, name: str, chosen: Optional[str]) -> Path:
    """Write a value atomically to a file called name in folder."""
    label = chosen or format_for(value)
    if label is None:
        raise OutputError(
            f"output {name!r}: no default format for {type(value).__module__}.{type(value).__qualname__}; set format=\"pickle\" or write the file to client.output_path({name!r})"
        )
    if label not in FORMATS:
        raise OutputError(f"output {name!r}: unknown format {label!r}; the formats are: {', '.join(FORMATS)}")
    form = FORMATS[label]
    target = folder / (name + form.extension)
    partial = folder / f".{name}{form.extension}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        form.write(value, partial)
        partial.replace(target)
    except ImportError as err:
        raise OutputError(f"output {name!r}: {label} needs {err.name}, which is not installed") from err
    except (OSError, TypeError, ValueError, AttributeError, NotImplementedError, pickle.PicklingError) as err:
        partial.unlink(missing_ok=True)
        raise OutputError(f"output {name!r} cannot be written as {label}: {_reason(err)}") from err
    return target


def _reason(err: Exception) -> str:
    """Return the message of an exception. pyarrow names the column in a second text."""
    texts = [text for text in err.args if isinstance(text, str)]
    if library(type(err)) != "pyarrow" or len(texts) < 2:
        return str(err)
    return f"{'. '.join(text.rstrip('.') for text in texts)}. All values of a column need the same type"


def read(path: Path, name: str, allow_code: bool) -> Any:
    """Read the value of a file. The file extension determines the format."""
    extension = path.suffix.lower()
    label = _OTHER_NAMES.get(extension) or next((label for label, form in FORMATS.items() if form.extension == extension), "raw")
    form = FORMATS[label]
    if form.code and not allow_code:
        raise InputError(f"input {name!r} is a pickle, and reading it may run code; call load({name!r}, allow_pickle=True) if you trust its author")
    try:
        return form.read(path)
    except ImportError as err:
        raise InputError(f"input {name!r}: {label} needs {err.name}, which is not installed") from err
    except Exception as err:  # libraries raise various errors for damaged files
        raise InputError(f"input {name!r} cannot be read as {label}: {err}") from err
