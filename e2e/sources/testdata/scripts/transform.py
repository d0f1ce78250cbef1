"""The second one: it reports an output that its template does not declare."""
import json

from flowforge import client

with open("/tmp/output.json", "w") as out:
    json.dump({"rows": 2}, out)
client.output("success", True)
client.output("stats", {"rows": 1000, "columns": 50})
