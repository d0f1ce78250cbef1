"""The first script of the pipelines of document 002."""
import json

with open("/tmp/output.json", "w") as out:
    json.dump({"rows": 3}, out)
print("extracted")
