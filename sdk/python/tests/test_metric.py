"""Metrics and checkpoints as authors write them, in a task and outside."""

from __future__ import annotations

from typing import Any

import pytest

from flowforge import Client, OutputError
from flowforge._config import Config

from .conftest import Server


def test_a_number_after_the_value_is_the_step(server: Server, config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    client: Any = Client(config)
    client.metric("loss", 0.5, 3)
    client.close()
    [point] = server.entries("metrics")
    assert (point["step"], point["type"]) == ("3", "gauge")
    outside: Any = Client(Config())
    outside.metric("loss", 0.5, 4)
    assert capsys.readouterr().out == "METRIC loss=0.5 step=4\n"


def test_outside_it_refuses_what_a_task_refuses() -> None:
    client: Any = Client(Config())
    with pytest.raises(OutputError, match=r"checkpoint cannot be written as JSON: \['model'\] has the type `object`"):
        client.checkpoint({"epoch": 1, "model": object()})
    with pytest.raises(TypeError):
        client.metric("loss", None)


def test_a_checkpoint_takes_scalars_of_numpy(server: Server, config: Config) -> None:
    import numpy

    client = Client(config)
    client.checkpoint({"epoch": numpy.int64(3), "best": [numpy.float32(0.5)]})
    client.close()
    assert Client(config).get_checkpoint() == {"epoch": 3, "best": [0.5]}
