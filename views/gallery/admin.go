package gallery

import (
	"time"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

func adminEntries() []Entry {
	return []Entry{
		{"admin", "Teams and people", func(f views.Page) templ.Component { return views.AdminTreePage(adminTree(f)) }},
		{"admin-new", "Teams and people: a name that is taken", func(f views.Page) templ.Component { return views.AdminTreePage(adminNameInUse(f)) }},
		{"admin-archive", "Teams and people: archive", func(f views.Page) templ.Component { return views.AdminTreePage(adminArchive(f)) }},
		{"admin-none", "Teams and people: no role yet", func(f views.Page) templ.Component { return views.AdminTreePage(adminNone(f)) }},
		{"admin-team", "Members of a team", func(f views.Page) templ.Component { return views.AdminNodePage(adminTeam(f)) }},
		{"admin-project", "Members of a project: change a role", func(f views.Page) templ.Component { return views.AdminNodePage(adminProject(f)) }},
		{"admin-project-new", "Members of a new project", func(f views.Page) templ.Component { return views.AdminNodePage(adminProjectNew(f)) }},
		{"admin-users", "People", func(f views.Page) templ.Component { return views.AdminUsersPage(adminUsers(f)) }},
		{"admin-user", "Person", func(f views.Page) templ.Component { return views.AdminUserPage(adminUser(f)) }},
		{"audit", "Audit log", func(f views.Page) templ.Component { return views.AuditLogPage(auditLog(f)) }},
		{"audit-empty", "Audit log: nothing matches", func(f views.Page) templ.Component { return views.AuditLogPage(auditEmpty(f)) }},
	}
}

func adminFrame(f views.Page, title string, section views.Section, crumbs ...views.Crumb) views.Page {
	p := frame(f, title, section, crumbs...)
	p.Nav = views.Nav{Team: true, Waiting: true, Quotas: true, Tenancy: true, Audit: true, Cluster: true}
	return p
}

func adminTabs(current int) []ui.Tab {
	tabs := []ui.Tab{
		{Name: "Tenants and teams", URL: views.AdminURL(), Icon: "team"}, {Name: "People", URL: views.AdminUsersURL(), Icon: "user"},
		{Name: "Cluster", URL: views.ClusterURL(), Icon: "cpu"}, {Name: "Audit log", URL: views.AuditURL(), Icon: "log"},
	}
	tabs[current].Current = true
	return tabs
}

func adminRow(depth int, kind, name, people, groups, projects string) views.AdminRow {
	r := views.AdminRow{
		ID: name, Name: name, URL: "#", Kind: kind, Depth: depth, Members: people, Groups: groups, Projects: projects,
		EditURL: views.AdminEditURL(name),
	}
	for _, k := range map[string][]string{"tenant": {"Department", "Team"}, "department": {"Department", "Team"}, "team": {"Project"}}[kind] {
		r.Adds = append(r.Adds, ui.Action{Name: k, URL: views.AdminNewURL(name, k)})
	}
	return r
}

func adminTree(f views.Page) views.AdminTree {
	m := views.AdminTree{
		Page: adminFrame(f, "Teams and people", views.SectionAdmin), Tabs: adminTabs(0), NewURL: "#",
		Rows: []views.AdminRow{
			{ID: "all", Name: "Whole installation", URL: "#", Members: "2", Groups: "1", Projects: "6"},
			adminRow(1, "tenant", "Meridian", "3", "1", "5"), adminRow(2, "team", "Platform", "4", "–", "1"), adminRow(3, "project", "base-images", "–", "–", ""),
			adminRow(2, "department", "Research", "2", "–", "4"), adminRow(3, "team", "Vision", "11", "2", "2"),
			adminRow(4, "project", "defect-detection", "2", "–", ""), adminRow(4, "project", "segmentation", "–", "–", ""),
			adminRow(3, "department", "Language", "1", "1", "2"), adminRow(4, "team", "Speech", "6", "1", "2"),
			adminRow(1, "tenant", "Northwind", "1", "–", "1"),
		},
	}
	m.Rows[5].Description = "Plant cameras: defect detection and part counting."
	m.Rows[7].Archived, m.Rows[7].EditURL = true, ""
	return m
}

func adminNameInUse(f views.Page) views.AdminTree {
	m := adminTree(f)
	m.Problems = &views.AdminProblems{Title: "The name segmentation is already in use here.", Links: []ui.Crumb{{Name: "This name is already in use here. Choose another name.", URL: "#new-name"}}}
	m.Rows[5].Form = &views.AdminForm{
		ID: "edit", Label: "New project in Vision", Action: views.AdminNodesURL(), CancelURL: "#", Hidden: []ui.Option{{Name: "kind", Value: "project"}},
		Fields: []views.AdminField{
			{ID: "new-name", Name: "name", Label: "Name of the project", Help: "The project gets its own Kubernetes namespace.", Value: "segmentation", Error: "This name is already in use here. Choose another name."},
			{ID: "new-description", Name: "description", Label: "Description", Help: "A one-sentence summary of its purpose.", Optional: true},
		},
		Buttons: []views.AdminButton{{Text: "Create the project", Primary: true}},
	}
	return m
}

func adminArchive(f views.Page) views.AdminTree {
	m := adminTree(f)
	m.Notice = &views.AdminNotice{Kind: "ok", Strong: "Saved.", Text: ""}
	m.Rows[6].Form = &views.AdminForm{
		ID: "edit", Label: "Archive defect-detection", Action: "#", CancelURL: "#",
		Text:    "Archive the project defect-detection? Its data stays readable, nothing new can be launched, and you can restore it.",
		Fields:  []views.AdminField{{ID: "archive-reason", Name: "reason", Label: "Reason", Help: "For the audit log.", Optional: true}},
		Buttons: []views.AdminButton{{Text: "Archive the project", Danger: true}},
	}
	return m
}

func adminNone(f views.Page) views.AdminTree {
	return views.AdminTree{Page: frame(f, "Teams and people", views.SectionAdmin), Tabs: adminTabs(0)[:1]}
}

func adminRoles() []views.AdminRole {
	return []views.AdminRole{
		{Name: "Viewer", About: "Read-only access."}, {Name: "ProjectDev", About: "Registers and launches workflows, and cancels own executions."},
		{Name: "TeamAdmin", About: "Manages a team: cancels executions of others, adds projects and members, distributes the team's limits."},
		{Name: "TenantAdmin", About: "Manages a tenant: everything in it, including types and the audit log."},
	}
}

func adminRoleOptions() []ui.Option {
	return []ui.Option{{Value: "Viewer", Name: "Viewer"}, {Value: "ProjectDev", Name: "ProjectDev", Selected: true}, {Value: "TeamAdmin", Name: "TeamAdmin"}}
}

func adminTeam(f views.Page) views.AdminNode {
	day := 24 * time.Hour
	made, since := clock().Moment(ago(300*day)), clock().Moment(ago(40*day))
	role := views.AdminField{Name: "role", Label: "Role", Help: "Applies to this level and everything below it.", Options: adminRoleOptions()}
	memberRole, groupRole := role, role
	memberRole.ID, groupRole.ID = "member-role", "group-role"
	return views.AdminNode{
		Page: adminFrame(f, "Vision", views.SectionAdmin, views.Crumb{Name: "Teams and people", URL: "#"}, views.Crumb{Name: "Meridian", URL: "#"}, views.Crumb{Name: "Research", URL: "#"}),
		Name: "Vision", Kind: "team", Description: "Plant cameras: defect detection and part counting.",
		Facts:   []ui.Fact{{Name: "Created", Moment: &made}, {Name: "Id", Value: "01936f2e-77aa-7000-8000-3f1f7a5c2b11", Mono: true}},
		Actions: []ui.Action{{Name: "Limits", URL: "#", Icon: "quota"}, {Name: "Changes", URL: "#", Icon: "log"}, {Name: "Edit", URL: "#", Icon: "edit"}},
		Members: []views.AdminMember{
			{Name: "Amara Okafor", Email: "amara@meridian.example", URL: "#", Role: "TenantAdmin", From: "Meridian", FromURL: "#", Since: made, By: "admin"},
			{Name: "Jonas Weber", Email: "jonas@meridian.example", URL: "#", Role: "TeamAdmin", Since: since, By: "Amara Okafor", EditURL: "#"},
			{Name: "Mei Tanaka", Email: "mei@meridian.example", URL: "#", Role: "ProjectDev", Group: "ml-vision", Since: since},
			{Name: "Noor Haddad", Email: "noor@meridian.example", URL: "#", Role: "Viewer", From: "Research", Group: "ml-research", Since: since},
			{Name: "Sam Oduya", Email: "sam@meridian.example", URL: "#", Role: "ProjectDev", Since: since, By: "Jonas Weber", EditURL: "#", Disabled: true},
		},
		MemberForm: &views.AdminForm{
			ID: "member", Label: "Add a member", Action: "#", Buttons: []views.AdminButton{{Text: "Add member", Primary: true}},
			Fields: []views.AdminField{{ID: "member-email", Name: "email", Label: "E-mail address", Help: "The user must have signed in once.", Email: true}, memberRole},
		},
		Groups: []views.AdminGroup{
			{Provider: "sso", Group: "ml-vision", Role: "ProjectDev", Members: "9", Since: since, By: "Jonas Weber", RemoveURL: "#"},
			{Provider: "sso", Group: "ml-research", Role: "Viewer", Members: "31", From: "Research", FromURL: "#", Since: made, By: "Amara Okafor"},
		},
		GroupForm: &views.AdminForm{
			ID: "group", Label: "Add a group", Action: "#", Buttons: []views.AdminButton{{Text: "Add group", Primary: true}},
			Fields: []views.AdminField{
				{ID: "group-provider", Name: "provider", Label: "Sign-in provider", Help: "Its ID in the server configuration.", Value: "sso", List: []string{"sso", "partners"}},
				{ID: "group-group", Name: "group", Label: "Group", Help: "The exact group name at the provider."}, groupRole,
			},
		},
		HasBelow: true, Below: []views.AdminRow{adminRow(1, "project", "defect-detection", "2", "–", ""), adminRow(1, "project", "segmentation", "–", "–", "")},
		Adds: []ui.Action{{Name: "Project", URL: "#"}}, Roles: adminRoles(),
	}
}

func adminProject(f views.Page) views.AdminNode {
	m := adminTeam(f)
	m.Page = adminFrame(f, "defect-detection", views.SectionAdmin, views.Crumb{Name: "Teams and people", URL: "#"}, views.Crumb{Name: "Vision", URL: "#"})
	m.Name, m.Kind, m.HasBelow, m.HasAccounts = "defect-detection", "project", false, true
	m.Facts = append(m.Facts, ui.Fact{Name: "Namespace", Value: "ff-meridian-defect-detection-3f1f7a5c2b11", Mono: true})
	m.Notice = &views.AdminNotice{Kind: "ok", Strong: "Role assigned.", Text: "It applies immediately."}
	m.Members[1].Form = &views.AdminForm{
		ID: "change", Label: "Change the role of Jonas Weber", Action: "#", CancelURL: "#",
		Fields:  []views.AdminField{{ID: "change-role", Name: "role", Label: "Role of Jonas Weber", Help: "The new role applies from the next request.", Options: adminRoleOptions()}},
		Buttons: []views.AdminButton{{Text: "Save", Primary: true}, {Text: "Remove Jonas Weber", URL: "#", Danger: true}},
	}
	made := clock().Moment(ago(20 * 24 * time.Hour))
	m.Accounts = []views.AdminAccount{
		{Name: "ci", Role: "ProjectDev", Keys: "2", LastUsed: clock().Ago(ago(4 * time.Minute)), Created: made, By: "Jonas Weber", Action: "#"},
		{Name: "old-ci", Role: "ProjectDev", Keys: "–", Created: made, By: "Jonas Weber", Disabled: true, Action: "#"},
	}
	m.AccountForm = &views.AdminForm{
		ID: "new-account", Label: "Create a service account", Action: "#", Buttons: []views.AdminButton{{Text: "Create service account", Primary: true}},
		Fields: []views.AdminField{
			{ID: "account-name", Name: "name", Label: "Name", Help: "For example: ci or nightly-evaluation."},
			{ID: "account-role", Name: "role", Label: "Role", Help: "The role that its keys have in this project.", Options: adminRoleOptions()},
		},
	}
	return m
}

func adminProjectNew(f views.Page) views.AdminNode {
	m := adminProject(f)
	m.Members, m.Groups, m.Accounts, m.Notice = nil, nil, nil, nil
	m.MemberForm.Fields[0].Value, m.MemberForm.Fields[0].Error = "kim@nowhere", "No user with this address has signed in yet. Ask them to sign in once, or assign the role to one of their groups."
	m.Problems = &views.AdminProblems{Title: "The member cannot be added.", Links: []ui.Crumb{{Name: m.MemberForm.Fields[0].Error, URL: "#member-email"}}}
	return m
}

func adminUsers(f views.Page) views.AdminUsers {
	row := func(name, email, roles, sessions string, seen time.Duration) views.AdminUserRow {
		return views.AdminUserRow{Name: name, URL: "#", Email: email, Provider: "sso.meridian.example", Roles: roles, Sessions: sessions, Seen: clock().Ago(ago(seen))}
	}
	m := views.AdminUsers{
		Page: adminFrame(f, "People", views.SectionAdmin, views.Crumb{Name: "Teams and people", URL: "#"}), Tabs: adminTabs(1),
		Statuses: []ui.Option{{Name: "All users", Selected: true}, {Value: "active", Name: "Active"}, {Value: "disabled", Name: "Disabled"}, {Value: "admin", Name: "Administrators"}},
		Rows: []views.AdminUserRow{
			row("admin", "", "–", "1", time.Minute), row("Amara Okafor", "amara@meridian.example", "1", "2", 3*time.Minute), row("Jonas Weber", "jonas@meridian.example", "2", "1", 2*time.Hour),
			row("Mei Tanaka", "mei@meridian.example", "1", "–", 30*time.Hour), row("Sam Oduya", "sam@meridian.example", "1", "–", 900*time.Hour),
		},
		Pager: ui.Pager{Text: "5 people", Older: "#"},
	}
	m.Rows[0].Admin, m.Rows[0].Provider, m.Rows[1].Admin, m.Rows[4].Disabled = true, "this machine", true, true
	return m
}

func adminUser(f views.Page) views.AdminUser {
	first, last := clock().Moment(ago(4000*time.Hour)), clock().Moment(ago(2*time.Hour))
	return views.AdminUser{
		Page: adminFrame(f, "Jonas Weber", views.SectionAdmin, views.Crumb{Name: "Teams and people", URL: "#"}, views.Crumb{Name: "People", URL: "#"}),
		ID:   "01936f2e", Name: "Jonas Weber",
		Facts: []ui.Fact{
			{Name: "E-mail", Value: "jonas@meridian.example"}, {Name: "Signs in with", Value: "sso.meridian.example"}, {Name: "First seen", Moment: &first},
			{Name: "Last seen", Moment: &last}, {Name: "2 groups", Value: "ml-vision"}, {Name: "", Value: "staff"},
		},
		Roles: []views.AdminUserRole{{Place: "Vision", URL: "#", Kind: "team", Role: "TeamAdmin"}, {Place: "Research", URL: "#", Kind: "department", Role: "Viewer", Group: "ml-research"}},
		Forms: []views.AdminUserAction{
			{Action: "#", Text: "Installation administrators have full access to every tenant.", Button: views.AdminButton{Text: "Make administrator"}},
			{ID: "disable", Action: "#", Ask: "Disable the account of Jonas Weber?", Text: "Disabling ends all sessions immediately and blocks sign-in and keys. Everything that the user created is kept.", Button: views.AdminButton{Text: "Disable the account"}},
		},
	}
}

func auditLog(f views.Page) views.AuditPage {
	facts := func(at time.Time) []ui.Fact {
		exact := clock().Exactly(at)
		return []ui.Fact{{Name: "When", Moment: &exact}, {Name: "As", Value: "user", Note: "session:01936f2e"}, {Name: "From", Value: "192.0.2.17", Mono: true}, {Name: "Request", Value: "k3jx7q2mzt9a", Mono: true}}
	}
	actions := map[string]string{"quota.update": "changed the limits of", "member.add": "added a member to", "group.remove": "removed a group from", "tenant.create": "created"}
	row := func(id, who, action, kind, object, summary, reason string, before time.Duration, diff ...views.AuditDiff) views.AuditRow {
		return views.AuditRow{
			ID: id, At: clock().Moment(ago(before)), Actor: who, ActorURL: "#", Action: action, ActionText: actions[action], Kind: kind, Object: object, ObjectU: "#", Summary: summary,
			Reason: reason, Diff: diff, Facts: facts(ago(before)),
		}
	}
	return views.AuditPage{
		Page: adminFrame(f, "Audit log", views.SectionAudit), Tabs: adminTabs(3), Zone: "UTC", CSVURL: "#", JSONURL: "#",
		Actions: []ui.Option{{Name: "All actions", Selected: true}, {Value: "member", Name: "Members: all"}, {Value: "member.add", Name: "– member.add"}, {Value: "quota.update", Name: "– quota.update"}},
		Tenants: []ui.Option{{Name: "All tenants", Selected: true}, {Value: "1", Name: "Meridian"}, {Value: "2", Name: "Northwind"}},
		Rows: []views.AuditRow{
			row("4", "Amara Okafor", "quota.update", "team", "Vision", "limit › gpu:A100 12 → 16 · weight 1 → 1.5", "the October launch", 9*time.Minute,
				views.AuditDiff{Name: "limit › gpu:A100", Old: "12", New: "16"}, views.AuditDiff{Name: "weight", Old: "1", New: "1.5"}),
			row("3", "Jonas Weber", "member.add", "team", "Vision", "email mei@meridian.example · role ProjectDev · user Mei Tanaka", "", 3*time.Hour,
				views.AuditDiff{Name: "email", New: "mei@meridian.example"}, views.AuditDiff{Name: "role", New: "ProjectDev"}, views.AuditDiff{Name: "user", New: "Mei Tanaka"}),
			row("2", "Jonas Weber", "group.remove", "team", "Vision", "group contractors → – · provider sso → – · role Viewer → –", "", 26*time.Hour,
				views.AuditDiff{Name: "group", Old: "contractors"}, views.AuditDiff{Name: "provider", Old: "sso"}, views.AuditDiff{Name: "role", Old: "Viewer"}),
			row("1", "admin", "tenant.create", "tenant", "Northwind", "name Northwind", "", 50*time.Hour, views.AuditDiff{Name: "name", New: "Northwind"}),
		},
		Pager: ui.Pager{Text: "4 changes", Older: "#"},
	}
}

func auditEmpty(f views.Page) views.AuditPage {
	m := auditLog(f)
	m.Rows, m.Filtered, m.Actor, m.From = nil, true, "nobody", "2026-11-01"
	m.Problem = "Enter days as 2026-11-21, and choose a tenant from the list."
	return m
}
