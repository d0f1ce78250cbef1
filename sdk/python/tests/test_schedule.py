"""Schedules of a workflow in its definition."""

from __future__ import annotations

import datetime
import unittest
from typing import Any

from flowforge import DefinitionError, Schedule, Window, operator, workflow


@operator
def report(day: str) -> str:
    return day


def scheduled(option: Any) -> Any:
    def flow(day: str = "") -> str:
        return report(day)

    return workflow(name="sdk.scheduled", schedule=option)(flow).definition()


class TestSchedule(unittest.TestCase):
    def test_an_expression_is_enough(self) -> None:
        self.assertEqual(scheduled("0 2 * * *").document()["schedules"], [{"cron": "0 2 * * *"}])

    def test_without_schedules(self) -> None:
        self.assertNotIn("schedules", scheduled(None).document())

    def test_all_fields(self) -> None:
        utc = datetime.timezone.utc
        full = Schedule(
            ["@daily", "0 12 * * FRI"],
            name="both",
            timezone="Europe/Berlin",
            gap="skip",
            fold="both",
            anchor=datetime.datetime(2026, 1, 1, tzinfo=utc),
            start=datetime.datetime(2026, 1, 2, tzinfo=utc),
            end=datetime.datetime(2027, 1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
            calendar="germany",
            business_days=True,
            exclude=[Window("22:00", "06:00", ["FRI"]), Window("12:00", "13:00")],
            inputs={"day": "{{ scheduled_time | date }}", "since": datetime.date(2026, 1, 1)},
            priority=70,
            misfire="all",
            catch_up="2h30m",
            catch_up_max=3,
            overlap="queue_all",
            max_running=2,
            jitter=datetime.timedelta(minutes=5),
            pause_after_failures=3,
            paused=True,
            when="schedule.failed < 2",
            stop_when="schedule.succeeded > 9",
            keep_succeeded=5,
            keep_failed=0,
        )
        expected = {
            "name": "both",
            "crons": ["@daily", "0 12 * * FRI"],
            "timezone": "Europe/Berlin",
            "gap": "skip",
            "fold": "both",
            "anchor": "2026-01-01T00:00:00Z",
            "starts_at": "2026-01-02T00:00:00Z",
            "ends_at": "2027-01-01T00:00:00Z",
            "calendar": "germany",
            "business_days": True,
            "exclude": [{"from": "22:00", "until": "06:00", "days": ["FRI"]}, {"from": "12:00", "until": "13:00"}],
            "inputs": {"day": "{{ scheduled_time | date }}", "since": "2026-01-01"},
            "priority": 70,
            "misfire": "all",
            "catch_up_seconds": 9000,
            "catch_up_max": 3,
            "overlap": "queue_all",
            "max_running": 2,
            "jitter_seconds": 300,
            "pause_after_failures": 3,
            "paused": True,
            "when": "schedule.failed < 2",
            "stop_when": "schedule.succeeded > 9",
            "keep_succeeded": 5,
            "keep_failed": 0,
        }
        self.assertEqual(scheduled(full).document()["schedules"], [expected])
        self.assertEqual(scheduled(Schedule(every="90m")).document()["schedules"], [{"every": "5400s"}])
        once = Schedule(at=datetime.datetime(2027, 1, 1, tzinfo=utc))
        self.assertEqual(scheduled(once).document()["schedules"], [{"at": "2027-01-01T00:00:00Z"}])

    def test_schedules_are_no_part_of_a_version(self) -> None:
        self.assertEqual(scheduled("0 2 * * *").content(), scheduled("0 3 * * *").content())

    def test_mistakes(self) -> None:
        for option, message in (
            (Schedule(), "one of cron, every and at"),
            (Schedule("@daily", every=60), "one of cron, every and at"),
            (Schedule(every="1.5h"), "time span such as 90m"),
            (Schedule(every=0.5), "whole seconds"),
            (Schedule(at=datetime.datetime(2027, 1, 1)), "needs a time zone"),
            (["@daily", "@hourly"], "only one of several schedules can omit its name"),
            ([Schedule("@daily", name="a"), Schedule("@hourly", name="a")], "called 'a'"),
            (7, "a cron expression, a Schedule or a list"),
        ):
            with self.subTest(message), self.assertRaisesRegex(DefinitionError, message):
                scheduled(option)
