"""Runs cells in the kernel of a notebook: reads a JSON list of cells and prints a list of what each shows."""

from __future__ import annotations

import json
import sys
from typing import Any, Dict, List

from jupyter_client.manager import start_new_kernel


def main() -> None:
    manager, client = start_new_kernel(kernel_name="python3")
    try:
        print(json.dumps([_run(client, cell) for cell in json.load(sys.stdin)]))
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def _run(client: Any, cell: str) -> str:
    shown: List[str] = []

    def hook(message: Dict[str, Any]) -> None:
        content = message["content"]
        if message["msg_type"] == "stream":
            shown.append(content["text"])
        elif message["msg_type"] in ("execute_result", "display_data"):
            shown.append(content["data"]["text/plain"])
        elif message["msg_type"] == "update_display_data":
            shown.append("\nupdated: " + content["data"]["text/html"])
        elif message["msg_type"] == "error":
            shown.append(f"{content['ename']}: {content['evalue']}")

    client.execute_interactive(cell, output_hook=hook, timeout=120, allow_stdin=False)
    return "".join(shown)


if __name__ == "__main__":
    main()
