"""Provides secrets of FlowForge to @secrets."""

from __future__ import annotations

import json
import os
import re
from typing import Any, Dict

from metaflow.plugins.secrets import SecretsProvider

from .describe import SECRET
from .errors import FlowForgeException


class FlowForgeSecretsProvider(SecretsProvider):  # type: ignore[misc]
    TYPE = "flowforge"

    def get_secret_as_dict(self, secret_id: str, options: Any = None, role: Any = None) -> Dict[str, str]:
        """Return the variables of a secret.

        A secret whose value is a JSON object has one variable for each field. Any other secret
        has one variable with its own name in upper case, or with options={"env_var_name": …}.
        """
        names = json.loads(os.environ.get("METAFLOW_FLOWFORGE_SECRETS", "[]"))
        if secret_id not in names:
            raise FlowForgeException(f"The FlowForge secret *{secret_id}* is available only in tasks that FlowForge starts. Run the flow with: flowforge run")
        with open(os.environ["FLOWFORGE_INPUTS"], encoding="utf-8") as file:
            value = json.load(file)[f"{SECRET}{names.index(secret_id)}"]
        return variables(secret_id, value, options or {})


def variables(secret_id: str, value: str, options: Dict[str, Any]) -> Dict[str, str]:
    """Return the variables that a secret sets."""
    try:
        fields = json.loads(value)
    except ValueError:
        fields = None
    if isinstance(fields, dict) and not options.get("env_var_name"):
        return {str(k): v if isinstance(v, str) else json.dumps(v) for k, v in fields.items()}
    name = options.get("env_var_name") or re.sub(r"\W", "_", secret_id.rpartition("/")[2]).upper()
    return {name: value}
