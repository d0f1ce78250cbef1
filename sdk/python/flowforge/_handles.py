"""Files as values: the registry's data types as Python classes.

A handle is made of a path, of a Python value, or of a reference to the catalogue:

    Dataset(frame)                 a value, which is written to a file when it is needed
    Model(Path("weights.pt"))      a file or a folder
    Dataset("uci-digits@1")        a reference to the catalogue of the server

It has the same attributes in plain Python and in a task.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterator, Optional, Union

from . import _figures, _formats
from ._constraints import CustomType
from ._place import error
from .exceptions import InputError, OutputError

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Any:
        return lambda cls: cls


_NOTHING = object()


class File:
    """A file. `path` is its local path, and load() reads it according to its extension."""

    kind = "File"
    _custom_type: Optional[CustomType] = None  # of a subclass

    def __init__(self, value: Any, *, format: Optional[str] = None) -> None:
        self.format = format
        self.allow_pickle = False
        self._passed = False  # from one operator to another in plain Python
        self._path: Optional[Path] = None
        self._value: Any = _NOTHING
        self.reference = ""
        self.artifact = ("", "")  # address of the server and ID, for an output of a run
        if isinstance(value, File):
            self.artifact = value.artifact
            self._path, self._value, self.reference = value._path, value._value, value.reference
            self.format, self.allow_pickle, self._passed = format or value.format, value.allow_pickle, value._passed
        elif isinstance(value, str) and self._is_reference(value):
            self.reference = value
        elif hasattr(type(value), "_ff_name"):
            kind = type(self).__name__
            raise error(f"{kind}(…): {value._ff_name} does not exist while the workflow is defined; pass it on as it is, or make the {kind} in an operator")
        elif isinstance(value, os.PathLike):
            self._path = Path(os.path.abspath(value))
        else:
            self._value = value

    def __init_subclass__(
        cls, registered: str = "", register: bool = False, description: str = "", renderer: Union[str, "os.PathLike[str]", None] = None, **more: Any
    ) -> None:
        super().__init_subclass__(**more)
        if registered:
            cls._custom_type = CustomType(registered, register=register, description=description, renderer=renderer)

    def _is_reference(self, text: str) -> bool:
        return True

    @property
    def has_value(self) -> bool:
        """Whether the handle was made of a Python value."""
        return self._value is not _NOTHING

    @property
    def _needs_pickle(self) -> bool:
        """Whether only a pickle can hold the value."""
        return self.has_value and self.format is None and self.kind != "Report" and not _formats.has_format(self._value)

    @property
    def path(self) -> Path:
        """The local path of the file or folder.

        A Python value is first written to a temporary file, and a reference is downloaded.
        """
        if self._path is None:
            if self.reference:
                from . import _download

                self._path = _download.catalogue(self.kind, self.reference)
            else:
                self._path = self.write(Path(tempfile.mkdtemp(prefix="flowforge-")), self.kind.lower(), False)
        return self._path

    def __fspath__(self) -> str:
        return str(self.path)

    def load(self, *, allow_pickle: bool = False) -> Any:
        """Return the value of the file.

        Tables become pandas DataFrames, reports become text, and JSON, NumPy and torch files
        become the corresponding values. All other files become bytes. Reading a pickle can run
        code, so it requires `allow_pickle`, or an operator with pickle=True. Raises InputError
        if the file cannot be read.
        """
        if self.has_value and self._passed and self._needs_pickle and not (allow_pickle or self.allow_pickle):
            raise _unreadable(f"this {type(self).__name__}")
        if self.has_value:
            return self._value
        return read(self.path, allow_pickle or self.allow_pickle, self.kind)

    def _check_format(self, name: str) -> None:
        """Raise OutputError if a task without pickle=True could not write this output."""
        if self._needs_pickle and not self._passed:
            raise formatless(self._value, name)

    def write(self, folder: Path, name: str, pickle: bool) -> Path:
        """Write the value to a file called name in folder. Raises OutputError."""
        if not self.has_value:
            raise OutputError(f"output {name!r} is a reference to {self.reference!r}, which has no value to write")
        return write(self._value, folder, name, self.format, pickle)

    def __repr__(self) -> str:
        inside = self.reference or (str(self._path) if self._path else type(self._value).__name__)
        return f"{type(self).__name__}({inside})"


class Directory(File):
    """A folder of files."""

    kind = "Directory"


class Dataset(File):
    """A dataset: a version in the catalogue, an output, or an upload."""

    kind = "Dataset"


class Model(File):
    """A trained model: a version in the catalogue, an output, or an upload."""

    kind = "Model"


class Table(File):
    """Rows and columns, such as a CSV file or a data frame."""

    kind = "Table"


class Image(File):
    """An image: a figure of matplotlib or seaborn, a picture of Pillow, pixels in an array, or the path of a file.

    Arrays have height × width, or height × width × 1 to 4 channels, with integers from 0 to 255 or
    floats from 0 to 1.
    """

    kind = "Image"

    def write(self, folder: Path, name: str, pickle: bool) -> Path:
        if self.format is None and _figures.is_array(self._value):
            return write(self._value, folder, name, "png", pickle)
        return super().write(folder, name, pickle)


class Report(File):
    """An HTML page: Report("<h1>…</h1>"), or the path of a file.

    Report(["<h1>Loss</h1>", figure, frame]) is a page of several parts: HTML, figures of matplotlib,
    seaborn and plotly, pictures of Pillow, and data frames.
    """

    kind = "Report"

    def _is_reference(self, text: str) -> bool:
        return False

    def write(self, folder: Path, name: str, pickle: bool) -> Path:
        target = folder / f"{name}.html"
        folder.mkdir(parents=True, exist_ok=True)
        target.write_text(self.load(), encoding="utf-8")
        return target

    def load(self, *, allow_pickle: bool = False) -> Any:
        return _figures.page(self._value) if self.has_value else super().load()


class FeatureSet(File):
    """Features from the feature store."""

    kind = "FeatureSet"


class Secret(str):
    """A secret of the project. In a task, it contains the value. Its representation hides the value."""

    def __repr__(self) -> str:
        return "Secret(…)"


@dataclass_transform()
class HyperparameterSet:
    """Hyperparameters of a training run. Define a subclass with their types, ranges and defaults:

    class Settings(HyperparameterSet):
        learning_rate: Annotated[float, Range(1e-4, 1, log=True)] = 0.05
        batch_size: Literal[16, 32, 64] = 16
    """

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        from dataclasses import dataclass

        dataclass(cls)

    if not TYPE_CHECKING:

        def __init__(self, **values: Any) -> None:
            self.__dict__.update(values)

    def __getitem__(self, name: str) -> Any:
        return self.__dict__[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dict__)

    def values(self) -> Dict[str, Any]:
        """Return all settings by name."""
        return dict(self.__dict__)

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({inside})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__


def received(value: File, pickle: bool) -> File:
    """Return a file of plain Python as an operator receives it: only pickle lets it read a pickle."""
    if not value._needs_pickle:
        return value
    found = type(value)(value)
    found.allow_pickle, found._passed = pickle, True
    return found


def _unreadable(name: str) -> InputError:
    return InputError(f"{name} is a pickle, and reading it can run code: set pickle=True on the operator that reads it, or call load(allow_pickle=True)")


def read(path: Path, allow_pickle: bool, kind: str = "File") -> Any:
    """Read a file by its extension, and a Report as text. Raises InputError."""
    if kind == "Report":
        return path.read_text(encoding="utf-8")
    if path.suffix.lower() in (".csv", ".tsv"):
        try:
            import pandas
        except ImportError:
            raise InputError(f"{path.name}: load() reads tables with pandas, which is not installed; add pandas to packages, or read .path with the module csv") from None
        return pandas.read_csv(path, sep="\t" if path.suffix.lower() == ".tsv" else ",")
    if path.suffix.lower() in (".pkl", ".pickle") and not allow_pickle:
        raise _unreadable(path.name)
    return _formats.read(path, path.name, allow_pickle)


def write(value: Any, folder: Path, name: str, format: Optional[str], pickle: bool) -> Path:
    """Write a value to a file called name in folder, in a format that suits it."""
    label = format or _formats.format_for(value)
    if label is None and _formats.is_torch(type(value)):
        label = "torch"
    if label is not None:
        return _formats.write(value, folder, name, label)
    if pickle:
        return _cloudpickle(value, folder, name)
    raise formatless(value, name)


def formatless(value: Any, name: str) -> OutputError:
    """Return the error for an output that has no file format."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    return OutputError(
        f"output {name!r}: a {kind} has no file format. Write it to a file and return its path, "
        "or set pickle=True on the operator to use cloudpickle"
    )


def _cloudpickle(value: Any, folder: Path, name: str) -> Path:
    try:
        import cloudpickle
    except ImportError:
        return _formats.write(value, folder, name, "pickle")
    target = folder / f"{name}.pkl"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        target.write_bytes(cloudpickle.dumps(value))
    except Exception as err:  # the value's own code runs
        raise OutputError(f"output {name!r} cannot be pickled: {err}") from err
    return target
