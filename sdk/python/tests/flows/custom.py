"""Types that a file declares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, List, NamedTuple, Optional

from flowforge import CustomType, Model, Range, operator, workflow

Share = Annotated[float, CustomType("TestShare", description="A part of a whole.", renderer="share.html", inputs=True), Range(0, 1)]


@dataclass
class Box:
    left: int
    share: Share = 0.5


Detection = Annotated[Box, CustomType("TestDetection", register=True)]


class Ranking(Model, registered="TestRanking", register=True):
    """A model that ranks."""


class Found(NamedTuple):
    boxes: List[Detection]
    model: Ranking


@operator
def detect(share: Optional[Share]) -> Found:
    return Found([Box(1, share or 0.0)], Ranking({"weights": [share]}))


@workflow
def detection(share: Optional[Share] = 0.25) -> Found:
    return detect(share)
