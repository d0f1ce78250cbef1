"""Airflow with its scheduler, its API server and LocalExecutor.

The time is from the request of a run to the end that Airflow records for it.
"""

import os
import subprocess
import time
from datetime import datetime, timezone

import peer

port = peer.free_port()
base = f"http://127.0.0.1:{port}"
os.environ.update(
    AIRFLOW_HOME=peer.folder,
    AIRFLOW__CORE__EXECUTOR="LocalExecutor",
    AIRFLOW__CORE__LOAD_EXAMPLES="False",
    AIRFLOW__CORE__DAGS_FOLDER=f"{peer.folder}/dags",
    AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS="True",
    AIRFLOW__CORE__EXECUTION_API_SERVER_URL=f"{base}/execution/",
    AIRFLOW__CORE__MAX_ACTIVE_TASKS_PER_DAG="32",
    AIRFLOW__DATABASE__SQL_ALCHEMY_CONN=peer.database,
    AIRFLOW__API__PORT=str(port),
    AIRFLOW__API__BASE_URL=base,
    AIRFLOW__API__WORKERS="1",
    AIRFLOW__API_AUTH__JWT_SECRET="the benchmark's own secret, which protects nothing",
    AIRFLOW__LOGGING__LOGGING_LEVEL="WARNING",
    AIRFLOW__USAGE_DATA_COLLECTION__ENABLED="False",
    NO_PROXY="127.0.0.1",
)

DAGS = f'''
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, task


@task
def add(number):
    return number + 1


with DAG("chain-40", schedule=None):
    previous = None
    for i in range({peer.CHAIN}):
        current = BashOperator(task_id=f"step{{i}}", bash_command="exec /bin/true")
        if previous:
            previous >> current
        previous = current

with DAG("wide-200", schedule=None):
    for i in range({peer.WIDE}):
        BashOperator(task_id=f"each{{i}}", bash_command="exec /bin/true")

with DAG("functions-20", schedule=None):
    number = 0
    for i in range({peer.FUNCTIONS}):
        number = add(number)

with DAG("map-100", schedule=None):
    add.expand(number=list(range({peer.ITEMS})))
'''


def airflow(*arguments):
    return [f"{peer.python_folder}/airflow", *arguments]


def workload(name):
    def run():
        begin = datetime.now(timezone.utc)
        path = f"{base}/api/v2/dags/{name}/dagRuns"
        run = peer.request("POST", path, {"logical_date": None}, token)
        while run["state"] not in ("success", "failed"):
            time.sleep(0.25)  # the recorded end counts
            run = peer.request("GET", f"{path}/{run['dag_run_id']}", token=token)
        peer.expect(run["state"], "success")
        return (datetime.fromisoformat(run["end_date"]) - begin).total_seconds()

    return run


def ready(name):
    """Return whether the DAG is known and active."""
    dag = peer.request("PATCH", f"{base}/api/v2/dags/{name}", {"is_paused": False}, token)
    return not dag["is_paused"]


names = ("chain-40", "wide-200", "functions-20", "map-100")
os.makedirs(f"{peer.folder}/dags", exist_ok=True)
with open(f"{peer.folder}/dags/bench.py", "w") as f:
    f.write(DAGS)
subprocess.run(airflow("db", "migrate"), check=True, stdout=2)
servers = [peer.start(*airflow(s)) for s in ("api-server", "scheduler", "dag-processor")]
token = peer.until(
    lambda: peer.request("GET", f"{base}/auth/token"), 300, "Airflow's API server"
)["access_token"]
for name in names:
    peer.until(lambda name=name: ready(name), 300, f"the DAG {name}")
peer.serve("apache-airflow", {name: workload(name) for name in names}, servers)
