package views

import (
	"slices"
	"strings"
)

// paletteEntry is a page or a command of the palette. A command has no URL: it submits the form
// of the page with the id Form, or opens the dialog with the id Dialog.
type paletteEntry struct {
	name, icon, url string
	form, dialog    string
	command         bool   // the page at url is for one action
	words           string // synonyms that find it
}

// note is the kind of entry.
func (e paletteEntry) note() string {
	if e.form != "" || e.dialog != "" || e.command {
		return "Command"
	}
	return "Page"
}

// text is what a search compares with: the name and its synonyms.
func (e paletteEntry) text() string { return strings.ToLower(e.name + " " + e.words) }

// found reports whether each word of query begins a word of the entry.
func (e paletteEntry) found(query string) bool {
	known := strings.Fields(e.text())
	for word := range strings.FieldsSeq(strings.ToLower(query)) {
		if !slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(k, word) }) {
			return false
		}
	}
	return true
}

// The ids of the forms that commands of the palette submit.
const (
	themeFormID   = "switch-theme"
	keysFormID    = "switch-keys"
	signOutFormID = "sign-out"
)

// synonyms are other words for the pages of the sidebar.
func synonyms(s Section) string {
	return map[Section]string{
		SectionHome: "start dashboard overview", SectionExecutions: "runs jobs history", SectionApprovals: "approve reject gates questions",
		SectionSweeps: "hyperparameter search tuning grid random optuna experiments", SectionWorkflows: "pipelines flows dags graphs", SectionArtifacts: "files models datasets tables images reports outputs",
		SectionReports:   "documents notes write markdown",
		SectionEvents:    "feed history log consumers dead letters cloudevents nats kafka",
		SectionTriggers:  "webhooks events chain after github gitlab automate",
		SectionSchedules: "cron timers periodic recurring nightly automate", SectionNotifications: "alerts slack teams email webhooks on-call messages",
		SectionDatasets: "data tables feature sets features statistics drift", SectionModels: "registry promotion stages versions",
		SectionTypes: "schemas inputs fields", SectionSecrets: "credentials passwords", SectionConnections: "databases buckets apis postgres clickhouse s3 http huggingface credentials", SectionFailures: "errors dead letters breakers",
		SectionTeam: "quotas usage budget gpus", SectionWaiting: "queue pending capacity", SectionQuotas: "limits capacity shares gpus cpu memory",
		SectionAdmin: "tenants departments projects roles permissions members", SectionCluster: "machines nodes namespaces pods gpus",
		SectionAudit: "history changes events",
	}[s]
}

// paletteEntries are the pages that the user may see, then the commands.
func (p Page) paletteEntries() []paletteEntry {
	var out []paletteEntry
	for _, g := range p.navGroups() {
		for _, e := range g.entries {
			out = append(out, paletteEntry{name: e.name, icon: e.icon, url: e.url, words: synonyms(e.section)})
		}
	}
	out = append(out,
		paletteEntry{name: "Templates", icon: "flow", url: TemplatesURL(), words: "workflowtemplates library"},
		paletteEntry{name: "Projects", icon: "updown", url: ProjectsURL(), words: "switch tenants teams"},
		paletteEntry{name: "Circuit breakers", icon: "pause", url: BreakersURL(), words: "failures protection"},
		paletteEntry{name: "Retry budgets", icon: "redo", url: RetryBudgetsURL(), words: "failures retries protection"})
	add := func(shown bool, e paletteEntry) {
		if shown {
			out = append(out, e)
		}
	}
	add(p.Nav.Waiting, paletteEntry{name: "Semaphores", icon: "pause", url: SemaphoresURL(""), words: "locks mutexes concurrency limits"})
	add(p.Nav.Tenancy, paletteEntry{name: "People", icon: "user", url: AdminUsersURL(), words: "users members accounts"})
	add(p.Nav.Cluster, paletteEntry{name: "Storage", icon: "db", url: StorageURL(), words: "disk retention cleanup sweeps"})
	out = append(out,
		paletteEntry{name: "Your account", icon: "user", url: AccountURL(), words: "profile preferences settings sessions"},
		paletteEntry{name: "Inbox", icon: "bell", url: InboxURL(nil), words: "notifications unread messages alerts mine"},
		paletteEntry{name: "Notification settings", icon: "bell", url: AccountNotificationsURL(), words: "email digest quiet hours mute inbox preferences"},
		paletteEntry{name: "API keys", icon: "key", url: AccountKeysURL(), words: "tokens credentials"},
		paletteEntry{name: "Python", icon: "edit", url: PythonURL(), words: "sdk pip install wheel notebook operator decorator"},
		paletteEntry{name: "Documentation", icon: "file", url: DocsURL(), words: "docs help guides manual"},
		paletteEntry{name: "API reference", icon: "api", url: APIDocsURL(), words: "docs openapi rest http swagger"},
		paletteEntry{name: "Launch a workflow", icon: "play", url: WorkflowsURL(), command: true, words: "start run new execution"},
		paletteEntry{name: "Write a report", icon: "edit", url: NewReportURL(), command: true, words: "new document notes markdown"},
		paletteEntry{name: "New schedule", icon: "cal", url: NewScheduleURL(), command: true, words: "cron timer nightly create"},
		paletteEntry{name: "Schedule calendar", icon: "cal", url: ScheduleCalendarURL(nil), words: "month cron runs load"},
		paletteEntry{name: "Holiday calendars", icon: "cal", url: HolidayCalendarsURL(), words: "business days weekend blackouts freeze"},
		paletteEntry{name: "Backfills", icon: "redo", url: BackfillsURL(), words: "past dates ranges catch up reprocess"},
		paletteEntry{name: "Register a workflow", icon: "plus", url: RegisterURL(), command: true, words: "apply upload create new version"},
		paletteEntry{name: "Switch theme", icon: "theme", form: themeFormID, words: "dark light mode appearance colours colors"},
		paletteEntry{name: "Show keyboard shortcuts", icon: "keyboard", dialog: "keys", words: "keys help hotkeys"})
	turn := "Turn off"
	if p.KeysOff {
		turn = "Turn on"
	}
	return append(out,
		paletteEntry{name: turn + " single-key shortcuts", icon: "keyboard", form: keysFormID, words: "keyboard keys"},
		// Without synonyms: Enter runs the first entry that begins with the text.
		paletteEntry{name: "Sign out", icon: "right", form: signOutFormID})
}

// PaletteHits are the pages and commands with an address that query finds, for the search page.
func (p Page) PaletteHits(query string) []SearchHit {
	var hits []SearchHit
	for _, e := range p.paletteEntries() {
		if e.url != "" && e.found(query) {
			hits = append(hits, SearchHit{Icon: e.icon, Name: e.name, URL: e.url, Note: e.note()})
		}
	}
	return hits
}
