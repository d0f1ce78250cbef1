package api

import (
	"context"
	"time"

	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
)

type attemptsBody struct {
	Attempts []attemptBody `json:"attempts"`
}

type attemptBody struct {
	Attempt    int            `json:"attempt"`
	QueuedAt   time.Time      `json:"queued_at"`
	StartedAt  *time.Time     `json:"started_at,omitempty"`
	FinishedAt *time.Time     `json:"finished_at,omitempty"`
	Outcome    string         `json:"outcome,omitempty" doc:"Outcome of the attempt; absent while it runs"`
	Class      string         `json:"class,omitempty" doc:"Outcome class, such as out_of_memory, evicted or node_lost; absent if not applicable"`
	ErrorClass string         `json:"error_class,omitempty" doc:"Failure class: user_error, out_of_memory, preempted, node_lost, image, start, timeout or network"`
	Message    string         `json:"message,omitempty"`
	ExitCode   *int           `json:"exit_code,omitempty"`
	Host       string         `json:"host,omitempty"`
	Namespace  string         `json:"namespace,omitempty" doc:"Namespace of the attempt's pod, in a cluster"`
	Pod        string         `json:"pod,omitempty"`
	Machine    string         `json:"machine,omitempty" doc:"Name of the cluster machine"`
	MemoryMiB  int            `json:"memory_mib,omitempty" doc:"Memory per pod"`
	GPUs       int            `json:"gpus,omitempty" doc:"GPUs per pod"`
	GPUType    string         `json:"gpu_type,omitempty"`
	CPUSeconds *float64       `json:"cpu_seconds,omitempty"`
	PeakRSS    *int64         `json:"peak_rss_bytes,omitempty"`
	Events     []podEventBody `json:"pod_events,omitempty" doc:"Kubernetes events of the attempt's pods, oldest first"`

	Traceback *query.Traceback `json:"traceback,omitempty" doc:"Exception that ended a Python operator; only for the latest 20 attempts with an exception"`
}

type podEventBody struct {
	At      time.Time `json:"at"`
	Warning bool      `json:"warning"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Count   int       `json:"count"`
}

type hoursBody struct {
	GPU    float64 `json:"gpu_hours"`
	CPU    float64 `json:"cpu_hours" doc:"CPU core hours"`
	Memory float64 `json:"memory_gib_hours"`
}

// attemptAPI serves the attempts of nodes and how their inputs reached them.
type attemptAPI struct {
	Executions *execution.Service
}

func (h *attemptAPI) mount(api *operations) {
	operation(api, get("list-attempts", "/executions/{execution_id}/nodes/{node}/attempts", "List the attempts of a node, where they ran and how they ended", "Executions"), h.apiAttempts)
	operation(api, get("get-execution-usage", "/executions/{execution_id}/usage", "Get the resource usage of an execution so far", "Executions"), h.apiHours)
	operation(api, get("list-node-inputs", "/executions/{execution_id}/nodes/{node}/inputs", "List the data channels of a node's inputs", "Executions"), h.apiEdges)
}

// maxTracebacks limits the tracebacks in one response, which can have 64 KiB each.
const maxTracebacks = 20

func (h *attemptAPI) apiAttempts(ctx context.Context, in *struct {
	ExecutionPath
	Node string `path:"node" doc:"Node name, percent-encoded, such as train or each[3]" maxLength:"2000"`
}) (*body[attemptsBody], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	d, err := h.Executions.Nodes.Get(ctx, id, in.Node)
	if err != nil {
		return nil, err
	}
	events, err := h.Executions.Nodes.PodEvents(ctx, id, in.Node, 0)
	if err != nil {
		return nil, err
	}
	tracebacks, err := h.Executions.Nodes.Tracebacks(ctx, id, d.Node, maxTracebacks)
	if err != nil {
		return nil, err
	}
	out := attemptsBody{Attempts: make([]attemptBody, 0, len(d.Attempts))}
	for _, a := range d.Attempts {
		item := toAttemptBody(a, events)
		item.Traceback = tracebacks[a.Number]
		out.Attempts = append(out.Attempts, item)
	}
	return reply(out), nil
}

func toAttemptBody(a query.Attempt, events []query.PodEvent) attemptBody {
	out := attemptBody{
		Attempt: a.Number, QueuedAt: a.QueuedAt, StartedAt: a.StartedAt, FinishedAt: a.FinishedAt, Outcome: a.Outcome, Class: a.Class, ErrorClass: string(a.ErrorClass),
		Message: a.Message, ExitCode: a.ExitCode, Host: a.Host, Namespace: a.Namespace, Pod: a.Pod, Machine: a.Machine,
		MemoryMiB: a.MemoryMiB, GPUs: a.GPUs, GPUType: a.GPUType, CPUSeconds: a.CPUSeconds, PeakRSS: a.PeakRSSBytes,
	}
	for _, e := range events {
		if e.Attempt == a.Number {
			out.Events = append(out.Events, podEventBody{At: e.At, Warning: e.Warning, Reason: e.Reason, Message: e.Message, Count: e.Count})
		}
	}
	return out
}

func (h *attemptAPI) apiHours(ctx context.Context, in *ExecutionPath) (*body[hoursBody], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	hours, err := h.Executions.Usage.HoursOf(ctx, id)
	if err != nil {
		return nil, err
	}
	return reply(hoursBody{GPU: hours.GPU, CPU: hours.CPU, Memory: hours.Memory}), nil
}
