# examples/submit_workflow.py

import requests

API_URL = "http://localhost:8080/api/v1"
TOKEN = "your-api-token"

workflow = {
    "project_id": "project-123",
    "name": "data-pipeline-001",
    "dag_spec": {
        "version": "1.0",
        "entrypoint": "main",
        "templates": {
            "main": {
                "dag": {
                    "tasks": [
                        {
                            "name": "extract",
                            "template": "python-task",
                            "arguments": {"parameters": [{"name": "script", "value": "extract.py"}]}
                        },
                        {
                            "name": "transform",
                            "template": "python-task",
                            "dependencies": ["extract"],
                            "arguments": {"parameters": [{"name": "script", "value": "transform.py"}]}
                        },
                        {
                            "name": "load",
                            "template": "python-task",
                            "dependencies": ["transform"],
                            "arguments": {"parameters": [{"name": "script", "value": "load.py"}]}
                        }
                    ]
                }
            },
            "python-task": {
                "container": {
                    "image": "python:3.11-slim",
                    "command": ["python"],
                    "args": ["{{inputs.parameters.script}}"]
                },
                "inputs": {"parameters": [{"name": "script"}]},
                "retryStrategy": {"limit": 3, "backoff": {"duration": "10s", "factor": 2}}
            }
        }
    },
    "parameters": {"env": "production"},
    "priority": 50
}

response = requests.post(
    f"{API_URL}/workflows",
    headers={"Authorization": f"Bearer {TOKEN}"},
    json=workflow
)

print(response.json())
