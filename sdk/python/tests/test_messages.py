"""Messages of the module logging are in the log of the task, with their levels."""

from __future__ import annotations

from typing import Any

from .flows import messages
from .serving import server

assert server  # a fixture


def test_messages(server: Any) -> None:
    run = messages.talks.launch().wait(60)
    assert "INFO:tests.flows.messages:a fact" in run.logs() and "a detail" not in run.logs()
    assert "a mistake" in run.logs(level="ERROR") and "a fact" not in run.logs(level="ERROR")


def test_a_program_that_configures_logging(server: Any) -> None:
    text = messages.talks.launch(configured=True).wait(60).logs()
    assert "DEBUG <a detail>" in text and "INFO <a fact>" in text
