"""Reports with values at the edge: none of them costs other reports."""

from __future__ import annotations

import json
from typing import Any, Dict, List

import pytest

from flowforge import Client
from flowforge import _sender
from flowforge._config import Config

from .conftest import Server


def spooled(config: Config) -> List[Dict[str, Any]]:
    assert config.spool is not None
    return [json.loads(path.read_bytes()) for path in sorted(config.spool.glob("*.json"))]


def test_later_senders_keep_what_earlier_ones_spooled(server: Server, config: Config) -> None:
    server.stop()
    for line in ("first", "second"):
        client = Client(config)
        client.log(line)
        client._sending().close(timeout=0.1)
    assert sorted(entry["message"] for request in spooled(config) for entry in request["logs"]) == ["first", "second"]


def test_long_lines_travel_in_several_calls(server: Server, config: Config) -> None:
    client = Client(config)
    with client._sending()._wake:  # all lines wait before the first call
        for i in range(40):
            client.log(str(i % 10) * 200_000)
    assert client.flush(20)
    client.close()
    sent = [sum(len(entry["message"]) for entry in body["logs"]) for method, body in server.calls if method == "Send"]
    assert sum(sent) == 40 * 200_000
    assert max(sent) <= _sender.TEXT


def test_long_lines_are_spooled_in_several_files(server: Server, config: Config) -> None:
    server.stop()
    client = Client(config)
    for _ in range(100):
        client.log("x" * 200_000)
    client._sending().close(timeout=0.1)
    assert config.spool is not None
    sizes = [path.stat().st_size for path in config.spool.iterdir()]
    assert sum(sizes) > 20_000_000
    assert max(sizes) < 16 << 20, "the runner reads no larger file"


def test_a_message_above_the_limit_of_the_server_is_refused_once(server: Server, config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    client = Client(config)
    client.log("large", content="x" * (33 << 20))
    client.log("after")
    assert client.flush(20)
    client.close()
    assert "rejected" in capsys.readouterr().err
    assert [entry["message"] for entry in server.entries("logs")] == ["after"]


def test_a_flush_that_gives_up_keeps_batching(server: Server, config: Config) -> None:
    server.stop()
    client = Client(config)
    client.log("waits")
    assert not client.flush(0.1)
    assert not client._sending()._flush_now
    client._sending().close(timeout=0.1)


def test_lone_surrogates_are_replaced(server: Server, config: Config) -> None:
    client = Client(config)
    client.log("opened caf\udce9.csv", path="caf\udce9.csv")
    client.metric("loss\ud800", 1.0, tags={"file": "\udcff"})
    assert client.flush(10)
    client.close()
    (line,) = server.entries("logs")
    (point,) = server.entries("metrics")
    assert (line["message"], point["name"], point["tags"]) == ("opened caf?.csv", "loss?", {"file": "?"})


def test_fields_without_an_equivalent_in_json_are_texts(server: Server, config: Config) -> None:
    client = Client(config)
    client.log("epoch", loss=float("nan"), best=[1.5, float("inf")], by={(1, 2): float("-inf")})
    client.status("RUNNING", loss=float("nan"))
    assert client.flush(10)
    client.close()
    (line,) = server.entries("logs")
    assert _strict(line["extra"]) == {"loss": "nan", "best": [1.5, "inf"], "by": {"(1, 2)": "-inf"}}
    (update,) = [body for method, body in server.calls if method == "UpdateStatus"]
    assert _strict(update["details"]) == {"loss": "nan"}


def _strict(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{text} is not JSON: {constant}")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize(("progress", "sent"), [(float("nan"), None), (float("inf"), 100), (float("-inf"), 0), (99.9, 99)])
def test_progress_that_is_no_percentage(server: Server, config: Config, progress: float, sent: Any) -> None:
    client = Client(config)
    client.status("RUNNING", progress=progress)
    client.close()
    (update,) = [body for method, body in server.calls if method == "UpdateStatus"]
    assert update.get("progress") == sent


@pytest.mark.parametrize(("name", "step", "message"), [("", 1, "needs a name"), ("loss", 1 << 63, "more than 64 bits"), ("loss", -(1 << 63) - 1, "more than 64 bits")])
def test_metrics_that_the_server_refuses_fail_at_the_call(config: Config, name: str, step: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Client(config).metric(name, 1.0, step=step)
