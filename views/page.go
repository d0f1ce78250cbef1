// Package views contains the page templates, their models, the layout and the URL
// functions. A model is one struct per page that embeds Page and holds formatted strings
// and URLs: templates call nothing that can fail or fetch.
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
	SectionHome          Section = "home"
	SectionExecutions    Section = "executions"
	SectionWorkflows     Section = "workflows"
	SectionArtifacts     Section = "artifacts"
	SectionDatasets      Section = "datasets"
	SectionModels        Section = "models"
	SectionTypes         Section = "types"
	SectionTeam          Section = "team"
	SectionWaiting       Section = "waiting"
	SectionQuotas        Section = "quotas"
	SectionAdmin         Section = "admin"
	SectionAudit         Section = "audit"
	SectionCluster       Section = "cluster"
	SectionStorage       Section = "storage" // a tab of the administration
	SectionSecrets       Section = "secrets"
	SectionConnections   Section = "connections"
	SectionFailures      Section = "failures"
	SectionApprovals     Section = "approvals"
	SectionDocs          Section = "docs"
	SectionPython        Section = "python"
	SectionCompare       Section = "compare"
	SectionSweeps        Section = "sweeps"
	SectionSchedules     Section = "schedules"
	SectionNotifications Section = "notifications"
	SectionTriggers      Section = "triggers"
	SectionEvents        Section = "events"
	SectionReports       Section = "reports"
	SectionNone          Section = ""
)

// Crumb is one entry of the breadcrumbs; the last has no URL.
type Crumb = ui.Crumb

// Page is the data of the layout. Every page model embeds it.
type Page struct {
	Title            string  // document title; begins with the state if the page has one
	Section          Section // current entry of the sidebar
	Crumbs           []Crumb
	User             string // signed-in user
	Theme            string // "light", "dark" or "" for the system theme
	Path             string // path and query of this page, to return to after a POST
	Live             int    // number of live executions, shown in the sidebar
	PendingApprovals int    // number of open approvals, likewise
	Waits            int    // number of nodes and executions waiting for capacity, likewise
	FailingChannels  int    // number of channels that do not receive messages, likewise
	Inbox            Bell
	KeysOff          bool // single-key shortcuts are turned off (WCAG 2.1.4)
	Nav              Nav

	Projects Projects // the switcher
}

// Nav selects the additional entries of the sidebar: pages that exist and that the user
// may see.
type Nav struct {
	Team    bool // limits and queue of the team of the current project
	Waiting bool // waiting nodes with reasons
	Quotas  bool
	Tenancy bool // tenants, departments, teams, projects and their members
	Audit   bool
	Cluster bool // machines, namespaces and leases of the installation
}

type navEntry struct {
	section         Section
	name, icon, url string
}

// workEntries are about executions, catalogueEntries about what they run, read and produce, and
// accessEntries about the credentials that they use. Every user sees them.
func workEntries() []navEntry {
	return []navEntry{
		{SectionHome, "Home", "home", HomeURL()},
		{SectionExecutions, "Executions", "runs", ExecutionsURL()},
		{SectionSweeps, "Sweeps", "sweep", SweepsURL()},
		{SectionCompare, "Compare", "table", CompareURL()},
		{SectionReports, "Reports", "edit", ReportsURL(nil)},
		{SectionApprovals, "Approvals", "check", ApprovalsURL()},
		{SectionFailures, "Failures", "warn", DeadLettersURL("", "")},
	}
}

func catalogueEntries() []navEntry {
	return []navEntry{
		{SectionWorkflows, "Workflows", "flow", WorkflowsURL()},
		{SectionDatasets, "Datasets", "db", DatasetsURL("")},
		{SectionModels, "Models", "box", ModelsURL()},
		{SectionArtifacts, "Artifacts", "file", ArtifactsURL()},
		{SectionTypes, "Types", "type", TypesURL()},
	}
}

func accessEntries() []navEntry {
	return []navEntry{
		{SectionConnections, "Connections", "link", ConnectionsURL()},
		{SectionSecrets, "Secrets", "key", SecretsURL()},
	}
}

// buildEntries help to write workflows; every user sees them.
func buildEntries() []navEntry {
	return []navEntry{
		{SectionPython, "Python", "edit", PythonURL()},
		{SectionDocs, "Documentation", "api", DocsURL()},
	}
}

// navGroup is a titled part of the sidebar.
type navGroup struct {
	title   string
	entries []navEntry
}

// automateEntries start workflows without a user; every user sees them.
func automateEntries() []navEntry {
	return []navEntry{
		{SectionSchedules, "Schedules", "cal", SchedulesURL(nil)},
		{SectionTriggers, "Triggers", "bolt", TriggersURL()},
		{SectionNotifications, "Notifications", "bell", NotificationsURL()},
		{SectionEvents, "Events", "log", FeedURL(nil)},
	}
}

// navGroups are the groups visible to the user. Every user sees the first four.
func (p Page) navGroups() []navGroup {
	groups := []navGroup{{"Work", workEntries()}, {"Automate", automateEntries()}, {"Catalogue", catalogueEntries()}, {"Access", accessEntries()}}
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

// otherTheme is the theme that the button selects without JavaScript.
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

// otherKeys is the setting that the button of the shortcuts chooses.
func (p Page) otherKeys() string {
	if p.KeysOff {
		return "on"
	}
	return "off"
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

// htmxConfig makes htmx comply with the content security policy and keeps it from
// injecting styles, moving the focus or scrolling.
func htmxConfig() string {
	return `{"includeIndicatorCSS":false,"transitions":false,"history":false,"defaultFocusScroll":false}`
}
