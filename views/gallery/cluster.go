package gallery

import (
	"fmt"
	"time"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

func clusterEntries() []Entry {
	return []Entry{
		{"cluster", "Cluster", func(f views.Page) templ.Component { return views.ClusterView(clusterPage(f, cluster())) }},
		{"cluster-away", "Cluster: the API server is unreachable", func(f views.Page) templ.Component { return views.ClusterView(clusterPage(f, clusterUnreachable())) }},
		{"cluster-local", "Cluster: one machine", func(f views.Page) templ.Component { return views.ClusterView(clusterPage(f, clusterLocal())) }},
		{"cluster-new", "Cluster: not read yet", func(f views.Page) templ.Component { return views.ClusterView(clusterPage(f, clusterNew())) }},
		{"node-pod", "Node: pods, out of memory before", func(f views.Page) templ.Component { return views.NodePage(nodePod(f)) }},
		{"node-pod-waiting", "Node: its pod cannot be scheduled", func(f views.Page) templ.Component { return views.NodePage(nodePodWaiting(f)) }},
		{"node-gang", "Node: a gang whose machine was lost", func(f views.Page) templ.Component { return views.NodePage(nodeGang(f)) }},
	}
}

func clusterPage(f views.Page, live views.Cluster) views.ClusterPage {
	return views.ClusterPage{Page: adminFrame(f, "Cluster", views.SectionCluster), Tabs: adminTabs(2), Live: live}
}

// fullness returns a meter.
func fullness(name string, used, of int, unit string) views.Meter {
	text := fmt.Sprintf("%d of %d", used, of)
	if unit != "" {
		text += " " + unit
	}
	return views.Meter{Name: name, Text: text, Label: name + " " + text + " allocated", Width: fmt.Sprintf("%d%%", used*100/max(of, 1))}
}

func cluster() views.Cluster {
	machine := func(name, state, mark, message string, cpu, memory, pods int, gpus ...views.Meter) views.ClusterMachine {
		return views.ClusterMachine{Name: name, State: state, Mark: mark, Message: message, CPU: fullness("", cpu, 64, "cores"), Memory: fullness("", memory, 512, "GiB"), GPUs: gpus, Pods: fmt.Sprintf("%d of 110", pods)}
	}
	return views.Cluster{
		Lead: "Frankfurt, Kubernetes v1.36.3", Pooled: true,
		Figures: []views.QuotaFigure{
			{Name: "Schedulable machines", Value: "4", Note: "of 6"}, {Name: "A100 GPUs allocated", Value: "14", Note: "of 16"}, {Name: "H100 GPUs allocated", Value: "3", Note: "of 8"},
			{Name: "CPU allocated", Value: "148", Note: "of 256 cores"}, {Name: "Memory allocated", Value: "1.2", Note: "of 2.0 TiB"},
		},
		Pods: ui.NewBar("pods", []ui.Count{{State: "RUNNING", N: 41}, {State: "READY", N: 3}, {State: "SUCCEEDED", N: 12}}),
		Machines: []views.ClusterMachine{
			machine("gpu-a100-3", "Not ready", "FAILED", "Kubelet stopped posting node status.", 0, 0, 0, fullness("A100", 0, 8, "")),
			machine("gpu-a100-2", "Cordoned", "PAUSED", "No new pods are scheduled on it.", 12, 96, 4, fullness("A100", 6, 8, "")),
			machine("gpu-a100-1", "Ready", "SUCCEEDED", "", 60, 448, 9, fullness("A100", 8, 8, "")),
			machine("gpu-h100-1", "Ready", "SUCCEEDED", "", 24, 200, 6, fullness("H100", 3, 8, "")),
			machine("cpu-1.eu-central-1.compute.internal", "Ready", "SUCCEEDED", "", 52, 300, 22),
		},
		Namespaces: []views.ClusterNamespace{
			{Project: "defect-detection", URL: "#", Namespace: "ff-defect-detection-7f3a91c2", Pods: "31", Phase: "Active"},
			{Project: "segmentation", URL: "#", Namespace: "ff-segmentation-0b7714de", Pods: "10", Phase: "Active"},
			{Project: "deleted project", Namespace: "ff-old-1c22aa90", Pods: "0", Phase: "Terminating", Problem: "waits for finalizers of its content"},
		},
		Leases: []views.ClusterLease{
			{Name: "Scheduler", Does: "drives executions and allocates resources", Holder: "forge-scheduler-6d5f7c9b8-x2lqp", Term: "12", Address: "10.2.4.17:8080", Renewed: "held"},
			{Name: "Launcher", Does: "watches pods and manages namespaces and quotas", Holder: "forge-launcher-7c9d8f6b5-9kvmz", Term: "9", Address: "10.2.7.3:8080", Renewed: "expired 3 s ago", Expired: true},
		},
		Replica: &views.ClusterReplica{State: "In use", Mark: "SUCCEEDED", Lag: "less than 1 s", Limit: "5 s"},
	}
}

func clusterUnreachable() views.Cluster {
	m := cluster()
	m.Replica = &views.ClusterReplica{State: "Not in use", Mark: "FAILED", Lag: "42 s", Limit: "5 s", Problem: "It lags behind the primary by more than 5s."}
	m.Notice = &views.AdminNotice{Kind: "error", Strong: "The cluster's API server has not responded since 14:09:50.", Text: "Running tasks continue. New tasks start when it is back. Last error: dial tcp 10.0.0.1:6443: connect: connection refused."}
	return m
}

func clusterLocal() views.Cluster {
	return views.Cluster{
		Notice:  &views.AdminNotice{Strong: "Tasks run as processes on the server's machine.", Text: "To run them as pods of a cluster, set FLOWFORGE_LAUNCHER=kube."},
		Figures: []views.QuotaFigure{{Name: "CPU for tasks", Value: "16", Note: "cores"}, {Name: "Memory for tasks", Value: "60", Note: "GiB"}, {Name: "Concurrent tasks", Value: "6", Note: "of 32"}, {Name: "A100 GPUs", Value: "2"}},
		Machines: []views.ClusterMachine{
			{Name: "workstation", State: "Ready", Mark: "SUCCEEDED", CPU: fullness("", 6, 16, "cores"), Memory: fullness("", 12, 60, "GiB"), GPUs: []views.Meter{fullness("A100", 1, 2, "")}},
		},
	}
}

func clusterNew() views.Cluster {
	return views.Cluster{
		Lead: "Not read yet", Pooled: true,
		Notice: &views.AdminNotice{Kind: "warn", Strong: "No launcher has read the cluster yet.", Text: "A server with the role launcher reads it within seconds of its start."},
	}
}

func podEvents() []views.PodEvent {
	return []views.PodEvent{
		{Warning: true, Reason: "FailedScheduling", Message: "0/6 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/unreachable: }, 1 node(s) were unschedulable, 4 Insufficient nvidia.com/gpu. preemption: 0/6 nodes are available.", Count: "× 4", At: clock().Exactly(ago(50 * time.Second))},
		{Reason: "Scheduled", Message: "Successfully assigned ff-defect-detection-7f3a91c2/ff-0197-5-2 to gpu-a100-1", At: clock().Exactly(ago(40 * time.Second))},
		{Reason: "Pulled", Message: "Container image \"registry.example.com/ml/torch:2.9\" already present on machine", At: clock().Exactly(ago(39 * time.Second))},
		{Reason: "Started", Message: "Container started", At: clock().Exactly(ago(38 * time.Second))},
	}
}

func podFacts(machine string, memory string) []ui.Fact {
	return []ui.Fact{
		{Name: "Pod", Value: "ff-01975a2e-5-2", Mono: true}, {Name: "Namespace", Value: "ff-defect-detection-7f3a91c2", Mono: true}, {Name: "Machine", Value: machine},
		{Name: "Image", Value: "registry.example.com/ml/torch:2.9", Mono: true}, {Name: "Memory", Value: memory}, {Name: "GPUs", Value: "4", Note: "A100"},
	}
}

func nodePod(f views.Page) views.Node {
	m := node(f)
	m.Usage = usage()
	m.Pods = views.AttemptPods{Pods: []views.AttemptPod{
		{Attempt: "2", State: "RUNNING", Facts: podFacts("gpu-a100-1", "64 GiB"), Events: podEvents()},
		{
			Attempt: "1", State: "FAILED", Facts: podFacts("gpu-a100-2", "32 GiB"), NoEvent: "The cluster reported no events of this pod.",
			Class: &views.PodClass{Code: "out_of_memory", Word: "Out of memory", Hint: "Request more memory, or set retry.memory to give the next attempt more memory automatically."},
		},
	}}
	return m
}

func nodePodWaiting(f views.Page) views.Node {
	m := node(f)
	m.Usage.Explains = "Resource usage is measured every 10 s while the node runs."
	m.Head.State, m.Head.Summary = "QUEUED", ""
	m.Attempts = m.Attempts[:1]
	m.Pods = views.AttemptPods{Pods: []views.AttemptPod{{
		Attempt: "1", State: "QUEUED", Facts: podFacts("none yet", "64 GiB"), Events: podEvents()[:1],
		Waiting: "No machine of the cluster can run the pod: 0/6 nodes are available: 4 Insufficient nvidia.com/gpu.",
	}}}
	return m
}

func nodeGang(f views.Page) views.Node {
	m := node(f)
	m.Usage.Problem = "The metric store is not responding. No data is lost: values are kept on disk and appear when it is back."
	for i := range m.Logs.Lines {
		m.Logs.Lines[i].Rank = fmt.Sprint(i % 4)
	}
	facts := podFacts("gpu-a100-3", "256 GiB")
	facts[0] = ui.Fact{Name: "Pods", Value: "4", Note: "ff-01975a2e-5-2-0 to ff-01975a2e-5-2-3"}
	m.Pods = views.AttemptPods{More: "2 earlier pods are not shown", Pods: []views.AttemptPod{{
		Attempt: "3", State: "FAILED", Facts: facts, NoEvent: "The cluster reported no events of these pods.",
		Class: &views.PodClass{Code: "node_lost", Word: "Machine lost", Hint: "FlowForge retries the attempt on another machine, and the retry limit does not apply.", Outside: true},
	}}}
	return m
}

// usage is the resource usage of a node with four GPUs.
func usage() views.Usage {
	m := metrics()
	u := views.Usage{Charts: m.Charts[:min(len(m.Charts), 2)]}
	for i := range u.Charts {
		u.Charts[i].Name = []string{"CPU, cores", "Memory, GiB"}[i]
	}
	return u
}
