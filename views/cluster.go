package views

import "github.com/flowforge/flowforge/views/ui"

// ClusterURL is the page of the cluster.
func ClusterURL() string { return "/admin/cluster" }

// ClusterStreamURL is its stream.
func ClusterStreamURL() string { return ClusterURL() + "/stream" }

// ClusterID is the element id of the part that moves.
func ClusterID() string { return "cluster" }

// ClusterPage is what the installation runs on, for who administers it.
type ClusterPage struct {
	Page
	Tabs      []ui.Tab
	Live      Cluster
	StreamURL string
}

// Cluster is the part of the page that moves.
type Cluster struct {
	Lead           string // what is shown, and as of when
	Notice         *AdminNotice
	Figures        []QuotaFigure
	Pods           ui.Bar
	Machines       []ClusterMachine
	MachinesMore   string
	Namespaces     []ClusterNamespace
	NamespacesMore string
	Leases         []ClusterLease
	Pooled         bool // there are pods and namespaces; else tasks are processes of one machine
}

// ClusterMachine is a machine and what is allocated on it.
type ClusterMachine struct {
	Name, Message string
	State         string // "Ready", "Not ready", "Cordoned"
	Mark          string // state that it is drawn in
	CPU, Memory   Meter
	GPUs          []Meter
	Pods          string
}

// Meter is how full something is: a bar with its figures.
type Meter struct {
	Name  string // "A100", "" when the column says it
	Text  string // "6 of 8"
	Label string // the whole bar in words
	Width string // of the full part: "75.00%"
}

// cellOf is how a cell stands where tables stack: left out when it says nothing.
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

// ClusterLease is something that one server does at a time, and which.
type ClusterLease struct {
	Name, Does    string
	Holder        string
	Term, Address string
	Renewed       string // "held", "expired 12 s ago"
	Expired       bool
}
