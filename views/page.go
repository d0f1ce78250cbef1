// Package views holds the page templates, their models, the layout and the URL
// functions. A model is one struct per page that embeds Page and holds
// display-ready strings and built URLs: templates call nothing that can fail or fetch.
package views

import (
	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/static"
	"github.com/flowforge/flowforge/views/ui"
)

// Section is an entry of the sidebar.
type Section string

// The sections of the sidebar.
const (
	SectionHome       Section = "home"
	SectionExecutions Section = "executions"
	SectionWorkflows  Section = "workflows"
	SectionArtifacts  Section = "artifacts"
	SectionTypes      Section = "types"
	SectionTeam       Section = "team"
	SectionWaiting    Section = "waiting"
	SectionQuotas     Section = "quotas"
	SectionAdmin      Section = "admin"
	SectionAudit      Section = "audit"
	SectionCluster    Section = "cluster"
	SectionSweeps     Section = "storage" // a tab of the administration
	SectionSecrets    Section = "secrets"
	SectionFailures   Section = "failures"
	SectionApprovals  Section = "approvals"
	SectionNone       Section = ""
)

// Crumb is one entry of the breadcrumbs; the last has no URL.
type Crumb = ui.Crumb

// Page is what every page needs for its frame. Every page model embeds it.
type Page struct {
	Title   string  // of the document; the state comes first where one is shown
	Section Section // which entry of the sidebar is current
	Crumbs  []Crumb
	User    string // who is signed in
	Theme   string // "light", "dark" or "" for that of the system
	Path    string // path and query of this page, to come back to after a POST
	Live    int    // executions under way, shown in the sidebar when there are any
	Asks    int    // nodes that wait for the answer of a person, likewise
	Waits   int    // nodes and executions that wait for room, likewise
	KeysOff bool   // single-key shortcuts are switched off (WCAG 2.1.4)
	Nav     Nav

	Projects Projects // the switcher
}

// Nav is what the sidebar offers beyond everybody's work: pages that are there and
// that the reader may see.
type Nav struct {
	Team    bool // limits and queue of the team of the current project
	Waiting bool // what waits and why
	Quotas  bool
	Tenancy bool // tenants, departments, teams, projects and their members
	Audit   bool
	Cluster bool // machines, namespaces and leases of the installation
}

type navEntry struct {
	section         Section
	name, icon, url string
}

func navEntries() []navEntry {
	return []navEntry{
		{SectionHome, "Home", "home", HomeURL()},
		{SectionExecutions, "Executions", "runs", ExecutionsURL()},
		{SectionApprovals, "Approvals", "check", ApprovalsURL()},
		{SectionWorkflows, "Workflows", "flow", WorkflowsURL()},
		{SectionArtifacts, "Artifacts", "box", ArtifactsURL()},
		{SectionTypes, "Types", "type", TypesURL()},
		{SectionSecrets, "Secrets", "key", SecretsURL()},
		{SectionFailures, "Failures", "warn", DeadLettersURL("", "")},
	}
}

// navGroup is a titled part of the sidebar.
type navGroup struct {
	title   string
	entries []navEntry
}

// navGroups are the groups that the reader has, the first of which everybody has.
func (p Page) navGroups() []navGroup {
	groups := []navGroup{{"Work", navEntries()}}
	add := func(title string, shown []bool, entries ...navEntry) {
		g := navGroup{title: title}
		for i, e := range entries {
			if shown[i] {
				g.entries = append(g.entries, e)
			}
		}
		if len(g.entries) > 0 {
			groups = append(groups, g)
		}
	}
	add("Cluster", []bool{p.Nav.Team, p.Nav.Waiting},
		navEntry{SectionTeam, "Team limits", "team", MyTeamURL()}, navEntry{SectionWaiting, "Waiting", "clock", "/waiting"})
	add("Admin", []bool{p.Nav.Quotas, p.Nav.Tenancy, p.Nav.Cluster, p.Nav.Audit},
		navEntry{SectionQuotas, "Quotas", "quota", QuotasURL(nil)}, navEntry{SectionAdmin, "Teams and people", "user", "/admin"},
		navEntry{SectionCluster, "Cluster", "cpu", ClusterURL()},
		navEntry{SectionAudit, "Audit log", "log", "/admin/audit"})
	return groups
}

// otherTheme is what the theme button switches to when no script runs.
func (p Page) otherTheme() string {
	if p.Theme == "dark" {
		return "light"
	}
	return "dark"
}

func (p Page) keys() string {
	if p.KeysOff {
		return "off"
	}
	return "on"
}

func documentTitle(title string) string {
	if title == "" {
		return "FlowForge"
	}
	return title + " · FlowForge"
}

// asset is the immutable address of a static file.
func asset(name string) string { return static.URL(name) }

func sprite() templ.Component { return templ.Raw(static.Sprite()) }

// htmxConfig keeps htmx inside the content security policy and quiet: no injected
// styles, no focus or scroll of its own.
func htmxConfig() string {
	return `{"includeIndicatorCSS":false,"transitions":false,"history":false,"defaultFocusScroll":false}`
}
