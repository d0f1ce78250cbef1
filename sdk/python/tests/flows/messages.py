"""Messages of the module logging."""

from __future__ import annotations

import logging

from flowforge import operator, workflow

logger = logging.getLogger(__name__)


@operator
def talk(configured: bool) -> None:
    if configured:
        logging.basicConfig(level=logging.DEBUG, format="%(levelname)s <%(message)s>")
    logger.debug("a detail")
    logger.info("a fact")
    logger.error("a mistake")


@workflow
def talks(configured: bool = False) -> None:
    talk(configured)
