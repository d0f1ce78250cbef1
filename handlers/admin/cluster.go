package admin

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

const (
	machinesShown   = 300
	namespacesShown = 300
	// clusterStale is the age at which the view of the cluster is out of date. The launcher
	// writes one at least every half minute.
	clusterStale = 90 * time.Second
)

// cluster shows the machines of tasks, and which server has which role.
func (h *Pages) cluster(w http.ResponseWriter, r *http.Request) error {
	live, err := h.clusterLive(r.Context(), h.Page.Clock(r))
	if err != nil {
		return err
	}
	return web.Render(w, r, http.StatusOK, views.ClusterView(views.ClusterPage{
		Page: h.Page.Base(r, "Cluster", views.SectionCluster), Tabs: h.tabs(r, views.SectionCluster, false), Live: live, StreamURL: views.ClusterStreamURL(),
	}))
}

// clusterStream sends the page again whenever it changed.
func (h *Pages) clusterStream(w http.ResponseWriter, r *http.Request) error {
	clock := h.Page.Clock(r)
	if _, err := h.clusterLive(r.Context(), clock); err != nil {
		return err
	}
	stream, err := web.NewStream(w, r, func(ctx context.Context) error {
		_, err := h.Executions.Leases(ctx)
		return err
	})
	if err != nil {
		return err
	}
	sent := page.SentPieces{}
	h.Page.OnHints(r, stream, h.Page.Ticks(r.Context()), page.ListInterval, func(ctx context.Context) error {
		clock.Now = h.Now()
		live, err := h.clusterLive(ctx, clock)
		if err != nil || !sent.Changed("cluster", live) {
			return err
		}
		return stream.SendComponent(ctx, "", "", views.ClusterUpdate(live))
	})
	return nil
}

// clusterLive is the part of the page that changes.
func (h *Pages) clusterLive(ctx context.Context, clock ui.Clock) (views.Cluster, error) {
	view, err := h.Executions.Cluster(ctx)
	if err != nil {
		return views.Cluster{}, err
	}
	leases, err := h.Executions.Leases(ctx)
	if err != nil {
		return views.Cluster{}, err
	}
	var m views.Cluster
	if view.Cluster {
		m = h.clusterOf(clock, view)
	} else {
		m, err = h.ownMachine(ctx)
	}
	m.Leases = leaseLines(clock, leases)
	if h.Replica != nil {
		m.Replica = replicaLine(h.Replica())
	}
	return m, err
}

// clusterOf is a cluster as its launcher last observed it.
func (h *Pages) clusterOf(clock ui.Clock, view query.ClusterView) views.Cluster {
	m := views.Cluster{Pooled: true}
	if view.SeenAt.IsZero() {
		m.Lead = "Not read yet"
		m.Notice = &views.AdminNotice{Kind: "warn", Strong: "No launcher has read the cluster yet.", Text: "A server with the role launcher reads it within seconds of its start."}
		return m
	}
	state := view.State
	m.Lead = label.JoinNote(state.Cluster, kubernetesVersion(state.Version))
	m.Notice = clusterNotice(clock, state, view.SeenAt)
	m.Figures = clusterFigures(state)
	m.Pods = ui.NewBar("pods", []ui.Count{
		{State: "RUNNING", N: state.Pods["running"]}, {State: "READY", N: state.Pods["pending"] + state.Pods["unschedulable"]},
		{State: "SUCCEEDED", N: state.Pods["succeeded"]}, {State: "FAILED", N: state.Pods["failed"]}, {State: "CANCELLED", N: state.Pods["terminating"]},
	})
	slices.SortStableFunc(state.Machines, func(a, b query.MachineState) int { return cmp.Compare(machineRank(a), machineRank(b)) })
	for _, x := range state.Machines[:min(len(state.Machines), machinesShown)] {
		m.Machines = append(m.Machines, machineLine(x))
	}
	if more := len(state.Machines) - machinesShown; more > 0 {
		m.MachinesMore = fmt.Sprintf("%s more machines are not listed. Machines with problems are listed first.", units.Number(int64(more)))
	}
	h.addNamespaces(&m, state.Namespaces)
	return m
}

func kubernetesVersion(version string) string {
	if version == "" {
		return ""
	}
	return "Kubernetes " + version
}

// clusterNotice describes a problem with the cluster or with the age of its observation.
func clusterNotice(clock ui.Clock, state query.ClusterState, seen time.Time) *views.AdminNotice {
	if age := clock.Now.Sub(seen); age > clusterStale {
		return &views.AdminNotice{
			Kind: "warn", Strong: "This is the state of the cluster at " + clock.Exactly(seen).Text + ".",
			Text: "No server with the role launcher has updated it since. Running tasks continue. Changes to their pods are detected when a launcher is back.",
		}
	}
	if state.Answers {
		return nil
	}
	n := &views.AdminNotice{Kind: "error", Strong: "The cluster's API server is not responding.", Text: "Running tasks continue. New tasks start when it is back."}
	if !state.Since.IsZero() {
		n.Strong = "The cluster's API server has not responded since " + clock.Exactly(state.Since).Text + "."
	}
	if state.Error != "" {
		message := state.Error
		if _, rest, ok := strings.Cut(message, " UTC: "); ok { // the notice has this time in the reader's zone
			message = rest
		}
		n.Text += " Last error: " + message
	}
	return n
}

// clusterFigures are the sums over the schedulable machines.
func clusterFigures(state query.ClusterState) []views.QuotaFigure {
	ready := 0
	var sum query.MachineState
	total, used := map[string]int64{}, map[string]int64{}
	for _, x := range state.Machines {
		if x.Ready && !x.Cordoned {
			ready++
			sum.CPUMillis, sum.MemoryMiB = sum.CPUMillis+x.CPUMillis, sum.MemoryMiB+x.MemoryMiB
		}
		sum.CPUUsed, sum.MemoryUsed = sum.CPUUsed+x.CPUUsed, sum.MemoryUsed+x.MemoryUsed
		for _, g := range x.GPUs {
			if x.Ready && !x.Cordoned {
				total[g.Type] += g.Total
			}
			used[g.Type] += g.Used
		}
	}
	figures := []views.QuotaFigure{{Name: "Schedulable machines", Value: units.Number(int64(ready)), Note: "of " + units.Number(int64(len(state.Machines)))}}
	for _, kind := range slices.Sorted(maps.Keys(used)) {
		figures = append(figures, views.QuotaFigure{Name: gpuName(kind) + " allocated", Value: units.Number(used[kind]), Note: "of " + units.Number(total[kind])})
	}
	cores, gib := ui.Unit{Divisor: 1000}, ui.Unit{Divisor: 1024}
	return append(figures,
		views.QuotaFigure{Name: "CPU allocated", Value: cores.Amount(sum.CPUUsed), Note: "of " + cores.Amount(sum.CPUMillis) + " cores"},
		views.QuotaFigure{Name: "Memory allocated", Value: gib.Amount(sum.MemoryUsed), Note: "of " + gib.Amount(sum.MemoryMiB) + " GiB"})
}

// memoryAmount formats memory; zero has no unit.
func memoryAmount(mib int64) string {
	if mib == 0 {
		return "0"
	}
	return ui.Memory(int(mib))
}

func gpuName(kind string) string {
	if kind == "" {
		return "GPUs"
	}
	return kind + " GPUs"
}

// machineRank orders machines; those with problems are first.
func machineRank(m query.MachineState) int {
	switch {
	case !m.Ready:
		return 0
	case m.Cordoned:
		return 1
	}
	return 2
}

func machineLine(x query.MachineState) views.ClusterMachine {
	m := views.ClusterMachine{
		Name: x.Name, Message: x.Message, State: "Ready", Mark: "SUCCEEDED",
		CPU: meter("CPU", x.CPUUsed, x.CPUMillis, ui.Unit{Divisor: 1000, Short: "cores"}), Memory: meter("memory", x.MemoryUsed, x.MemoryMiB, ui.Unit{Divisor: 1024, Short: "GiB"}),
		Pods: units.Number(x.Pods) + " of " + units.Number(x.PodLimit),
	}
	m.CPU.Name, m.Memory.Name = "", ""
	switch machineRank(x) {
	case 0:
		m.State, m.Mark = "Not ready", "FAILED"
	case 1:
		m.State, m.Mark = "Cordoned", "PAUSED"
		m.Message = cmp.Or(m.Message, "No new pods are scheduled on it.")
	}
	for _, g := range x.GPUs {
		m.GPUs = append(m.GPUs, meter(cmp.Or(g.Type, "any type"), g.Used, g.Total, ui.Unit{}))
	}
	return m
}

// meter shows an allocated amount as text and as a share of the width.
func meter(name string, used, total int64, unit ui.Unit) views.Meter {
	share := 0.0
	if total > 0 {
		share = min(float64(used)*100/float64(total), 100)
	}
	text := unit.Amount(used) + " of " + unit.Amount(total)
	if unit.Short != "" {
		text += " " + unit.Short
	}
	return views.Meter{Name: name, Text: text, Label: name + ": " + text + " allocated", Width: strconv.FormatFloat(share, 'f', 2, 64) + "%"}
}

// addNamespaces adds the namespaces with the names of their projects.
func (h *Pages) addNamespaces(m *views.Cluster, namespaces []query.NamespaceState) {
	names := map[string]string{}
	for _, l := range h.Quotas.Scheduler().Tree().Levels() {
		names[l.ID.String()] = l.Name
	}
	for _, n := range namespaces[:min(len(namespaces), namespacesShown)] {
		line := views.ClusterNamespace{Project: names[n.ProjectID], Namespace: n.Namespace, Phase: n.Phase, Problem: n.Error, Pods: units.Number(int64(n.Pods))}
		if line.Project == "" {
			line.Project = "deleted project"
		} else {
			line.URL = views.AdminNodeURL(n.ProjectID)
		}
		m.Namespaces = append(m.Namespaces, line)
	}
	if more := len(namespaces) - namespacesShown; more > 0 {
		m.NamespacesMore = units.Number(int64(more)) + " more namespaces are not listed."
	}
}

// leaseLines show the leaders. The names of the roles are those of the settings.
func leaseLines(clock ui.Clock, leases []query.Lease) []views.ClusterLease {
	does := map[string][2]string{
		"scheduler": {"Scheduler", "drives executions and allocates resources"},
		"launcher":  {"Launcher", "watches pods and manages namespaces and quotas"},
	}
	var lines []views.ClusterLease
	for _, l := range leases {
		words := does[l.Name]
		line := views.ClusterLease{
			Name: cmp.Or(words[0], l.Name), Does: words[1], Holder: l.Holder, Term: units.Number(l.Term), Address: l.Address, Renewed: "held",
		}
		if !l.Held {
			line.Expired, line.Renewed = true, "expired "+units.Duration(clock.Now.Sub(l.ExpiresAt).Truncate(time.Second))+" ago"
		}
		lines = append(lines, line)
	}
	return lines
}

// replicaLine shows the read replica. The lag is shown in steps, so that the page changes only with it.
func replicaLine(s ReplicaState) *views.ClusterReplica {
	m := &views.ClusterReplica{State: "In use", Mark: "SUCCEEDED", Lag: "not known", Limit: units.Duration(s.MaxLag), Problem: s.Problem}
	if !s.Usable {
		m.State, m.Mark = "Not in use", "FAILED"
	}
	switch {
	case !s.Known:
	case s.Lag < time.Second:
		m.Lag = "less than 1 s"
	default:
		m.Lag = units.Duration(s.Lag.Truncate(time.Second))
	}
	return m
}

// ownMachine is the single machine on which tasks run as processes.
func (h *Pages) ownMachine(ctx context.Context) (views.Cluster, error) {
	o, err := h.Quotas.Reader.Overview(ctx, auth.Installation)
	if err != nil {
		return views.Cluster{}, err
	}
	capacity := h.Quotas.Levels.Capacity()
	m := views.Cluster{
		Notice: &views.AdminNotice{Strong: "Tasks run as processes on the server's machine.", Text: "To run them as pods of a cluster, set FLOWFORGE_LAUNCHER=kube."},
	}
	x := query.MachineState{Name: "this machine", Ready: true, CPUMillis: int64(capacity.CPUMillis), MemoryMiB: int64(capacity.MemoryMiB)}
	if host, err := os.Hostname(); err == nil {
		x.Name = host
	}
	types := map[string]int64{}
	for _, d := range capacity.GPUs {
		types[d.Type]++
	}
	root := o.Find(auth.Installation)
	used := func(r fair.Resource) int64 {
		if root == nil {
			return 0
		}
		return root.Resources[r].Used
	}
	x.CPUUsed, x.MemoryUsed = used(fair.CPU), used(fair.Memory)
	for _, kind := range slices.Sorted(maps.Keys(types)) {
		x.GPUs = append(x.GPUs, query.GPUState{Type: kind, Total: types[kind], Used: used(fair.OfType(kind))})
	}
	line := machineLine(x)
	m.Machines = []views.ClusterMachine{line}
	m.Figures = clusterFigures(query.ClusterState{Machines: []query.MachineState{x}})[1:]
	m.Figures = append(m.Figures, views.QuotaFigure{Name: "Concurrent tasks", Value: units.Number(used(fair.Pods)), Note: "of " + units.Number(int64(capacity.Pods))})
	if h.WarmPython != nil {
		m.Figures = append(m.Figures, h.warmPython(ctx))
	}
	return m, nil
}

// warmPython is the memory that the runner keeps for Python tasks in advance.
func (h *Pages) warmPython(ctx context.Context) views.QuotaFigure {
	processes, memory, err := h.WarmPython(ctx)
	f := views.QuotaFigure{Name: "Warm Python", Value: memoryAmount(memory >> 20), Note: "in " + units.Plural(processes, "process", "processes")}
	if err != nil {
		f.Value, f.Note = "unknown", "the local task runner is not responding"
	}
	return f
}
