package views

import "github.com/flowforge/flowforge/views/ui"

// ClusterURL is the page of the cluster.
func ClusterURL() string { return "/admin/cluster" }

// ClusterStreamURL is its stream.
func ClusterStreamURL() string { return ClusterURL() + "/stream" }

// ClusterID is the element id of the live part.
func ClusterID() string { return "cluster" }

// ClusterPage shows administrators the infrastructure of the installation.
type ClusterPage struct {
	Page
	Tabs      []ui.Tab
	Live      Cluster
	StreamURL string
}

// Cluster is the live part of the page.
type Cluster struct {
	Lead           string // what is shown, with its time
	Notice         *AdminNotice
	Figures        []QuotaFigure
	Pods           ui.Bar
	Machines       []ClusterMachine
	MachinesMore   string
	Namespaces     []ClusterNamespace
	NamespacesMore string
	Leases         []ClusterLease
	Replica        *ClusterReplica // nil: there is none
	Pooled         bool            // tasks run as pods; otherwise as processes of one machine
}

// ClusterMachine is a machine and what is allocated on it.
type ClusterMachine struct {
	Name, Message string
	State         string // "Ready", "Not ready", "Cordoned"
	Mark          string // state that selects its icon and colour
	CPU, Memory   Meter
	GPUs          []Meter
	Pods          string
}

// Meter is a usage bar with its numbers.
type Meter struct {
	Name  string // "A100", "" if the column header names it
	Text  string // "6 of 8"
	Label string // accessible description
	Width string // of the used part: "75.00%"
}

// cellOf returns the data-cell value for narrow screens, which hide empty cells.
func cellOf(empty bool) string {
	if empty {
		return "hide"
	}
	return "wide"
}

// ClusterNamespace is the namespace of a project.
type ClusterNamespace struct {
	Project, URL    string
	Namespace, Pods string
	Phase, Problem  string
}

// ClusterReplica is the replica of the database from which lists are read.
type ClusterReplica struct {
	State      string // "In use", "Not in use"
	Mark       string // state that selects its icon and colour
	Lag, Limit string
	Problem    string
}

// ClusterLease is a task that one server performs at a time, with its holder.
type ClusterLease struct {
	Name, Does    string
	Holder        string
	Term, Address string
	Renewed       string // "held", "expired 12 s ago"
	Expired       bool
}
