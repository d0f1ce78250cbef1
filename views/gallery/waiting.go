package gallery

import (
	"time"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// waitingEntries show the queue, and a waiting node for every reason code.
func waitingEntries() []Entry {
	entries := []Entry{
		{"waiting", "Waiting", func(f views.Page) templ.Component { return views.WaitingView(waitingPage(f)) }},
		{"waiting-cluster", "Waiting: only in the cluster", func(f views.Page) templ.Component { return views.WaitingView(waitingInCluster(f)) }},
		{"waiting-empty", "Waiting: nothing", func(f views.Page) templ.Component { return views.WaitingView(waitingNothing(f)) }},
	}
	for _, r := range waitReasons() {
		entries = append(entries, Entry{"node-waiting-" + r.slug, "Node: waiting, " + r.panel.Code, func(f views.Page) templ.Component {
			return views.NodePage(nodeWaiting(f, r.panel))
		}})
	}
	return entries
}

// waitReason is a panel with the suffix of its address.
type waitReason struct {
	slug  string
	panel views.WaitPanel
}

// waitReasons is one panel for each reason code; the first shows all parts of a panel.
func waitReasons() []waitReason {
	limits := ui.Action{Name: "See team limits", URL: "#", Icon: "team"}
	requested := func(amount, free, name, of string) []views.WaitStat {
		return []views.WaitStat{{Name: "Requested", Value: amount}, {Name: name, Value: free, Note: of}, {Name: "Waiting for", Value: "3 min 29 s", Since: ago(209 * time.Second).Format(time.RFC3339)}}
	}
	return []waitReason{
		{"quota", waitingForGPUs()},
		{"gpu", views.WaitPanel{
			Line: "Waiting for 8 A100 GPUs on one machine: 14 are free, at most 6 of them together, and the operator does not set spread.", Code: "GPU_UNAVAILABLE", Resource: "A100 GPUs",
			Stats: requested("8 A100 GPUs", "6 A100 GPUs", "Free in the cluster", "of 32 A100 GPUs"), Actions: []ui.Action{limits},
			Advice: "Wait: it starts automatically when enough GPUs are free. Requests of up to 6 A100 GPUs start now.",
		}},
		{"cpu", views.WaitPanel{
			Line: "Waiting for CPU: requests 4 cores; the cluster has 1.5 cores left of 16 cores.", Code: "CPU_UNAVAILABLE", Resource: "CPU",
			Stats: requested("4 cores", "1.5 cores", "Free in the cluster", "of 16 cores"), Actions: []ui.Action{limits},
			Holders: []views.WaitHolder{{Title: "train #6b0d1f", URL: "#", Sub: "digits.train, 3 nodes", Owner: "tenant local", Amount: "12 cores", How: "guaranteed", Ends: "unknown"}},
		}},
		{"memory", views.WaitPanel{Line: "Waiting for memory: requests 32 GiB; the cluster has 12 GiB left of 64 GiB.", Code: "MEMORY_UNAVAILABLE", Resource: "memory", Stats: requested("32 GiB", "12 GiB", "Free in the cluster", "of 64 GiB")}},
		{"pods", views.WaitPanel{Line: "Waiting for pods: requests 1 pod; the cluster has 0 left of 8.", Code: "PODS_UNAVAILABLE", Resource: "pods", Stats: requested("1 pod", "0 pods", "Free in the cluster", "of 8 pods")}},
		{"share", views.WaitPanel{
			Line: "It fits, but capacity is reserved for team Ranking, which has used less of its fair share than team Vision.", Code: "BEHIND_IN_FAIR_SHARE",
			Stats: []views.WaitStat{{Name: "Position in the queue", Value: "3"}, {Name: "Starts", Value: "in less than a minute"}}, Order: waitOrder(), Score: waitScore(),
			Advice: "Wait: teams that have used less of their share go first. The position improves with waiting time.", Actions: []ui.Action{limits},
		}},
		{"preempted", views.WaitPanel{
			Line: "Stopped because team Vision had borrowed 4 A100 GPUs from team Ranking, which has reclaimed its guarantee. It restarts when capacity is available.", Code: "PREEMPTED", Resource: "A100 GPUs",
			Stats: requested("4 A100 GPUs", "0 A100 GPUs", "Free to team Vision", "of 12 A100 GPUs"), Actions: []ui.Action{limits},
			Advice: "Wait: it continues automatically from its last checkpoint when capacity is free.",
		}},
		{"executions", views.WaitPanel{
			Line: "Waiting for executions: requests 1 execution; project digits has 0 left of 4.", Code: "EXECUTIONS_LIMIT", Resource: "executions",
			Stats: requested("1 execution", "0 executions", "Free to project digits", "of 4 executions"), Actions: []ui.Action{limits, {Name: "Live executions", URL: "#", Icon: "runs"}},
			Advice: "Wait until an execution of project digits ends, or cancel one that is not needed.",
		}},
		{"storage", views.WaitPanel{
			Line: "Waiting for storage: project digits has used 101.2 GiB of 100 GiB. It starts when artifacts are deleted or the limit is raised.", Code: "STORAGE_LIMIT", Resource: "storage",
			Advice: "Ask an administrator of project digits for more storage.", Actions: []ui.Action{limits, {Name: "Artifacts", URL: "#", Icon: "box"}},
		}},
	}
}

// waitingForGPUs is a panel with all parts.
func waitingForGPUs() views.WaitPanel {
	return views.WaitPanel{
		Line:     "Waiting for A100 GPUs: requests 8 A100 GPUs; team Vision has 4 left of 12 (8 of its own, 4 borrowed).",
		Code:     "QUOTA_EXCEEDED",
		Resource: "A100 GPUs",
		Stats: []views.WaitStat{
			{Name: "Position in the queue", Value: "2", Note: "1 ahead for A100 GPUs"}, {Name: "Starts", Value: "≈ 14:34", Note: "14:28 to 14:50"}, {Name: "Requested", Value: "8 A100 GPUs"},
			{Name: "Free to team Vision", Value: "4 A100 GPUs", Note: "of 12 A100 GPUs"}, {Name: "Missing", Value: "4 A100 GPUs"},
			{Name: "Waiting for", Value: "3 min 29 s", Since: ago(209 * time.Second).Format(time.RFC3339)},
		},
		Basis:  "Estimated from 61 earlier attempts.",
		Advice: "Wait until other work of team Vision ends, cancel executions that are not needed, or ask an administrator of the team for a higher limit.", Actions: []ui.Action{{Name: "See team limits", URL: "#", Icon: "team"}},
		Holders: []views.WaitHolder{
			{Title: "pretrain_encoder #7k2f00", URL: "#", Sub: "street-scenes", Owner: "project street-scenes", Amount: "4 A100 GPUs", How: "guaranteed", Ends: "≈ 14:38"},
			{Title: "another team", Owner: "another team", Amount: "4 A100 GPUs", How: "partly borrowed", Ends: "≈ 14:34"},
		},
		Order: waitOrder(), OrderNote: "Work within its guarantee first, then the lowest share, then priority and age. Work within a guarantee is never interrupted.", QueueURL: "#",
		Score: waitScore(),
		Decisions: []views.EventRow{
			{Icon: "READY", Text: "train_decoder is waiting: requests 8 A100 GPUs; team Vision has 4 left of 12.", At: clock().Exactly(ago(time.Minute))},
			{Icon: "READY", Text: "train_decoder is ready", At: clock().Exactly(ago(209 * time.Second))},
		},
	}
}

func waitOrder() []views.WaitPosition {
	return []views.WaitPosition{
		{Position: "1", Title: "another team", Sub: "2 A100 GPUs", Note: "share 0.61"},
		{Position: "2", Title: "train_decoder #7k2f00", Sub: "this node, 8 A100 GPUs", Note: "share 0.83", Own: true},
		{Position: "3", Title: "trial_4 #7d1a90", URL: "#", Sub: "4 A100 GPUs", Note: "share 0.83"},
	}
}

func waitScore() []ui.Fact {
	return []ui.Fact{
		{Name: "Within the guarantee", Value: "no", Note: "borrows over 1 level"}, {Name: "Share of team Vision", Value: "0.83", Note: "62 % of A100 GPUs now, weight 1"},
		{Name: "Priority", Value: "72.1", Note: "= 50 base + 20 weight + 2.1 waiting − 0.0 use"},
	}
}

func nodeWaiting(f views.Page, panel views.WaitPanel) views.Node {
	n := node(f)
	n.Page = frame(f, "train_decoder", views.SectionExecutions, views.Crumb{Name: "Executions", URL: "/executions"}, views.Crumb{Name: "street-scenes #7k2f00", URL: "#"})
	n.Head = views.NodeHead{Name: "train_decoder", State: "READY", GraphURL: "#", Since: ago(209 * time.Second).Format(time.RFC3339), Waits: "3 min 29 s"}
	n.Wait, n.Attempts, n.Metrics = panel, nil, views.Metrics{Explains: "Metrics appear when the node reports them."}
	n.Facts = []ui.Fact{{Name: "Level", Value: "2 of 4"}}
	return n
}

func waitingPage(f views.Page) views.WaitingPage {
	m := views.WaitingPage{
		Page: frame(f, "Waiting", views.SectionWaiting), TeamURL: "#",
		Scopes: []ui.Choice{{Name: "This project", URL: "#"}, {Name: "The team", URL: "#", Current: true}, {Name: "All", URL: "#"}},
		List:   views.WaitingList{Lead: "The next 10, in the order in which they start.", Pager: ui.Pager{Older: "#"}},
	}
	for i, r := range waitReasons() {
		line := views.WaitingLine{
			Position: []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}[i], Title: "train_decoder #7k2f00", URL: "#", Sub: "street-scenes · priority HIGH", Requests: "8 A100 GPUs, 16 cores, 64 GiB",
			Waits: "3 min 29 s", Since: ago(209 * time.Second).Format(time.RFC3339), Starts: "unknown", Why: r.panel.Line, Code: r.panel.Code,
		}
		if len(r.panel.Holders) > 0 {
			line.Starts, line.StartsNote, line.Holders = "≈ 14:34", "14:28 to 14:50", r.panel.Holders
		}
		m.List.Rows = append(m.List.Rows, line)
	}
	m.List.Rows = append(m.List.Rows, views.WaitingLine{Position: "10", Title: "another project", Requests: "2 A100 GPUs", Waits: "12 s"})
	m.List.Cluster = clusterWaits()
	return m
}

// clusterWaits has one node for each reason of the cluster.
func clusterWaits() views.ClusterWaits {
	block := views.ClusterWaits{More: "12 more nodes wait in the cluster, for a shorter time."}
	for _, why := range []struct{ code, text, requests string }{
		{
			"UNSCHEDULABLE", "No machine of the cluster can run the pod: 0/5 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/unreachable: }, " +
				"4 Insufficient nvidia.com/gpu.", "8 A100 GPUs, 16 cores, 64 GiB, 2 pods",
		},
		{"GANG", "The pod is held until all pods of its attempt can be scheduled.", "32 H100 GPUs, 128 cores, 1 TiB, 8 pods"},
		{"IMAGE_PULL", "The image registry.example/vision/train:2026-11-20 cannot be pulled: ErrImagePull: manifest unknown", "4 cores, 16 GiB, 1 pod"},
		{"CLUSTER_AWAY", "The cluster's API is not responding: dial tcp 10.0.0.1:6443: connect: connection refused", "1 core, 2 GiB, 1 pod"},
		{"RESIDENT_QUEUE", "Waiting for a free warm pod.", "1 core, 2 GiB, 1 pod"},
		{"POD_STARTING", "The init container \"fetch\" is running.", "1 core, 2 GiB, 1 pod"},
	} {
		block.Rows = append(block.Rows, views.ClusterWaitLine{
			Title: "train_decoder #7k2f00", URL: "#", Sub: "street-scenes · nightly · project vision-lab", Requests: why.requests,
			Waits: "3 min 29 s", Since: ago(209 * time.Second).Format(time.RFC3339), Why: why.text, Code: why.code,
		})
	}
	return block
}

// waitingInCluster is the page when nodes wait only in the cluster.
func waitingInCluster(f views.Page) views.WaitingPage {
	m := waitingNothing(f)
	m.List.Lead = "No node is waiting for a limit. The nodes below are within their limits and are waiting for the cluster."
	m.List.Cluster = clusterWaits()
	m.List.Cluster.More = ""
	return m
}

func waitingNothing(f views.Page) views.WaitingPage {
	return views.WaitingPage{
		Page: frame(f, "Waiting", views.SectionWaiting), List: views.WaitingList{Lead: "No node is waiting for a limit or for capacity."},
		Scopes: []ui.Choice{{Name: "This project", URL: "#", Current: true}, {Name: "The team", URL: "#"}},
	}
}
