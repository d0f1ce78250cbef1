package query

import (
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/stored"
	"github.com/flowforge/flowforge/engine/protect"
	"github.com/flowforge/flowforge/engine/workflow"
)

// ExecutionFrom converts the row of an execution.
func ExecutionFrom(r db.Execution) Execution {
	return Execution{
		ID: r.ID, TenantID: r.TenantID, ProjectID: r.ProjectID, WorkflowID: r.WorkflowID, VersionID: r.VersionID,
		WorkflowName: r.WorkflowName, Version: r.Version, Name: r.Name, Status: State(r.Status), Purpose: Purpose(r.Purpose), SweepID: r.SweepID, AwaitsApproval: r.OnlyAwaits,
		Inputs: stored.Object(r.Inputs), Outputs: stored.Object(r.Outputs), Priority: Priority(r.Priority),
		SubmittedBy: Person{ID: r.SubmittedBy, Name: r.SubmittedByName},
		CreatedAt:   r.CreatedAt.UTC(), StartedAt: stored.UTC(r.StartedAt), FinishedAt: stored.UTC(r.FinishedAt), CancelRequestedAt: stored.UTC(r.CancelRequestedAt),
		Reason: stored.Into[Reason](r.Reason), Error: stored.Into[Failure](r.Error),
		Counts: Counts{
			Total: int(r.Total), Pending: int(r.Pending), Ready: int(r.Ready), Queued: int(r.Queued), Running: int(r.Running - r.AwaitingApproval), AwaitingApproval: int(r.AwaitingApproval),
			Retrying: int(r.Retrying), Succeeded: int(r.Succeeded), Failed: int(r.Failed), Skipped: int(r.Skipped), Cancelled: int(r.Cancelled),
		},
		Levels: int(r.Levels), LevelsDone: int(r.LevelsDone), RelaunchOf: r.RelaunchOf, ResumeOf: r.ResumeOf, ResumeFrom: resumedFrom(r), Traceparent: r.Traceparent,
		TTL: TTLFrom(r), ExpiresAt: stored.UTC(r.ExpiresAt), KeptAt: stored.UTC(r.KeptAt), KeptBy: r.KeptBy,
	}
}

// TTLFrom returns the TTL that the launch of an execution set.
func TTLFrom(row db.Execution) workflow.TTL {
	if ttl := stored.Into[workflow.TTL](row.Ttl); ttl != nil {
		return *ttl
	}
	return workflow.TTL{}
}

// NodeFrom converts the row of a node.
func NodeFrom(r db.Node) Node {
	n := Node{
		Index: int(r.NodeIndex), Name: r.Name, Level: int(r.Level), State: dag.State(r.State), Attempt: int(r.Attempt), Retries: int(r.Retries),
		Reason: stored.Into[Reason](r.Reason), Error: stored.Into[Failure](r.Error), Outputs: stored.Object(r.Outputs),
		ReadyAt: stored.UTC(r.ReadyAt), StartedAt: stored.UTC(r.StartedAt), FinishedAt: stored.UTC(r.FinishedAt), RetryAt: stored.UTC(r.RetryAt),
	}
	n.Parent, n.Graph, n.Place, n.Children = -1, r.Graph, n.Index, int(r.ChildCount)
	if r.ParentIndex != nil {
		n.Parent = int(*r.ParentIndex)
	}
	if r.OperatorIndex != nil {
		n.Place = int(*r.OperatorIndex)
	}
	if r.FirstChild != nil {
		n.FirstChild, n.Expanded = int(*r.FirstChild), true
	}
	if r.ItemIndex != nil {
		n.ItemIndex = new(int(*r.ItemIndex))
		n.Item, _ = stored.Value(string(r.Item)) // we wrote it
	}
	n.Polling = stored.Into[Polling](r.Polling)
	n.OriginExecution, n.Cache = r.OriginExecution, stored.Into[CacheNote](r.Cache)
	if r.OriginUse != nil {
		n.OriginUse = OriginUse(*r.OriginUse)
	}
	if r.Progress != nil || r.ProgressMessage != "" || r.ProgressStatus != "" {
		n.Progress = &Progress{Message: r.ProgressMessage, Status: r.ProgressStatus}
		if r.Progress != nil {
			n.Progress.Percent = int(*r.Progress)
		}
	}
	return n
}

func attemptFromRow(r db.Attempt) Attempt {
	a := Attempt{
		Number: int(r.Attempt), QueuedAt: r.QueuedAt.UTC(), StartedAt: stored.UTC(r.StartedAt), FinishedAt: stored.UTC(r.FinishedAt),
		Message: r.Message, Host: r.Host, CPUSeconds: r.CpuSeconds, PeakRSSBytes: r.PeakRssBytes,
		Class: r.Class, Namespace: r.Namespace, Pod: r.Pod, Machine: r.Machine,
		MemoryMiB: int(r.MemoryMib), GPUs: int(r.Gpus), GPUType: r.GpuType,
	}
	if r.Outcome != nil {
		a.Outcome = *r.Outcome
	}
	if r.ExitCode != nil {
		a.ExitCode = new(int(*r.ExitCode))
	}
	if r.Pid != nil {
		a.PID = new(int(*r.Pid))
	}
	a.ErrorClass = protect.Classify(protect.End{Outcome: a.Outcome, Class: a.Class, ExitCode: a.ExitCode, Message: a.Message})
	return a
}
