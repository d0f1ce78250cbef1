package main

import (
	"context"
	"time"
)

// adapter connects the benchmark to one system.
type adapter interface {
	Facts() facts
	Install(ctx context.Context, e environment) error
	// Start starts the system on an empty folder.
	Start(ctx context.Context, e environment) (session, error)
}

// session is a started system.
type session interface {
	Version() string
	// Run runs a workload and returns the time from its launch to its end.
	Run(ctx context.Context, workload string) (time.Duration, error)
	// Ended reports whether the system cannot run further workloads.
	Ended() bool
	Close() error
}

// facts are what a reader needs to compare the times of a system.
type facts struct {
	Name       string
	Durability string // what is durable after each step
	// Durable means that a step is recorded on disk before its successor starts.
	Durable bool
	// InProcess means that functions run in the process that calls them, without a server.
	InProcess bool
}

// workload is the same work in every system. The adapters implement it under its name.
type workload struct {
	name, summary string
	shell         bool // its steps are processes
}

func workloads() []workload {
	return []workload{
		{"chain-40", "a chain of 40 `/bin/true`", true},
		{"wide-200", "200 `/bin/true` side by side", true},
		{"functions-20", "a chain of 20 Python functions that add 1", false},
		{"map-100", "a map over 100 items with a Python function that adds 1", false},
	}
}

// warmUp is the workload that a turn does not count.
func warmUp() workload { return workloads()[2] }

const (
	inPostgres = "PostgreSQL with sync"
	files      = "files, without sync"
)

// peers returns FlowForge and the systems that it is compared with.
func peers() []adapter {
	return []adapter{
		flowforge{},
		pythonPeer{
			facts:  facts{Name: "DBOS", Durability: "result of the step: " + inPostgres, Durable: true, InProcess: true},
			script: "run_dbos", requirements: "dbos", driver: "postgresql",
		},
		pythonPeer{
			facts:  facts{Name: "DBOS-SQLite", Durability: "result of the step: SQLite", Durable: true, InProcess: true},
			script: "run_dbos", requirements: "dbos",
		},
		pythonPeer{
			facts:  facts{Name: "Luigi", Durability: "output of the task: " + files, Durable: true, InProcess: true},
			script: "run_luigi", requirements: "luigi",
		},
		pythonPeer{
			facts:  facts{Name: "Prefect", Durability: "state of the task, sent later: " + inPostgres},
			script: "run_prefect", requirements: "prefect", driver: "postgresql+asyncpg",
		},
		pythonPeer{
			facts:  facts{Name: "Prefect-SQLite", Durability: "state of the task, sent later: SQLite"},
			script: "run_prefect", requirements: "prefect",
		},
		pythonPeer{
			facts:  facts{Name: "Metaflow", Durability: "values of the step: " + files, Durable: true},
			script: "run_metaflow", requirements: "metaflow",
		},
		pythonPeer{
			facts:  facts{Name: "Airflow", Durability: "state and result of the task: " + inPostgres, Durable: true},
			script: "run_airflow", requirements: "airflow", driver: "postgresql+psycopg2",
		},
	}
}

// missing are systems that the benchmark does not run, with the reason.
func missing() [][2]string {
	return [][2]string{
		{"Dagu", "no package on PyPI, npm or Debian contains it"},
	}
}
