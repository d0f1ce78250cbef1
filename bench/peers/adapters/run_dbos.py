"""DBOS as a library in the process that calls it. It records every step before the next one."""

import asyncio

import peer
from dbos import DBOS

DBOS(
    config={
        "name": "bench",
        "system_database_url": peer.database or f"sqlite:///{peer.folder}/dbos.sqlite",
        "log_level": "ERROR",
        "run_admin_server": False,
    }
)


@DBOS.step()
def process():
    peer.true()


@DBOS.step()
async def process_async():
    running = await asyncio.create_subprocess_exec("/bin/true")
    peer.expect(await running.wait(), 0)


@DBOS.step()
def add(number: int) -> int:
    return number + 1


@DBOS.step()
async def add_async(number: int) -> int:
    return number + 1


@DBOS.workflow()
def chain():
    for _ in range(peer.CHAIN):
        process()


@DBOS.workflow()
async def wide():
    await asyncio.gather(*[process_async() for _ in range(peer.WIDE)])


@DBOS.workflow()
def functions():
    number = 0
    for _ in range(peer.FUNCTIONS):
        number = add(number)
    peer.expect(number, peer.FUNCTIONS)


@DBOS.workflow()
async def items():
    found = await asyncio.gather(*[add_async(i) for i in range(peer.ITEMS)])
    peer.expect(found, list(range(1, peer.ITEMS + 1)))


DBOS.launch()
loop = asyncio.new_event_loop()
peer.serve(
    "dbos",
    {
        "chain-40": peer.timed(chain),
        "wide-200": peer.timed(lambda: loop.run_until_complete(wide())),
        "functions-20": peer.timed(functions),
        "map-100": peer.timed(lambda: loop.run_until_complete(items())),
    },
)
DBOS.destroy()
