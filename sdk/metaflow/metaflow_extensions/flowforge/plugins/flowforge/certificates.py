"""The certificates of pods: the CA of a server that encrypts the reports of tasks, and the certificate that it requires."""

from __future__ import annotations

import os
import ssl
from typing import Any, Optional


def context() -> Optional[ssl.SSLContext]:
    """Return the TLS context for requests to the server, or None for the default."""
    ca, cert = os.environ.get("FLOWFORGE_TASK_CA"), os.environ.get("FLOWFORGE_TASK_CERT")
    if not ca and not cert:
        return None
    found = ssl.create_default_context(cafile=ca or None)
    if cert:
        found.load_cert_chain(cert, os.environ.get("FLOWFORGE_TASK_KEY") or None)
    return found


def install() -> None:
    """Let Metaflow's client, which uses requests, reach its service. Requests to other servers are unaffected."""
    ca, cert = os.environ.get("FLOWFORGE_TASK_CA"), os.environ.get("FLOWFORGE_TASK_CERT")
    service = os.environ.get("METAFLOW_SERVICE_URL", "").rstrip("/")
    if not service or not ca and not cert:
        return
    import requests

    original = requests.Session.merge_environment_settings

    def merge(self: Any, url: Any, *args: Any, **kwargs: Any) -> Any:
        settings = original(self, url, *args, **kwargs)
        if str(url).startswith(service + "/"):
            settings["verify"] = ca or settings["verify"]
            if cert:
                settings["cert"] = (cert, os.environ.get("FLOWFORGE_TASK_KEY") or cert)
        return settings

    requests.Session.merge_environment_settings = merge  # type: ignore[method-assign]
