package views

// Python is the page that describes how to use the Python package with this server.
type Python struct {
	Page     Page
	Install  string // command
	Login    string // command
	Run      string // commands
	Metaflow string // command that installs the extension of Metaflow
}

// PythonURL describes how to write workflows in Python.
func PythonURL() string { return "/python" }

// pythonExample is a complete file that runs without other packages.
func pythonExample() string {
	return `# flow.py
from typing import Annotated, Literal

from flowforge import Range, foreach, operator, workflow


@operator(cpu=0.5, memory="256Mi", retry=1)
def score(kind: Literal["fast", "exact"], lr: float) -> float:
    return lr * (2 if kind == "exact" else 1)


@operator
def best(scores: list[float]) -> float:
    return max(scores)


@workflow(name="hello.search")
def search(
    lr: Annotated[float, Range(1e-4, 1, log=True)] = 0.05,
    kinds: list[Literal["fast", "exact"]] = ["fast", "exact"],
) -> float:
    """Finds the best score."""
    return best(foreach(kinds, lambda kind: score(kind, lr)))


if __name__ == "__main__":
    print(search(lr=0.1))
`
}
