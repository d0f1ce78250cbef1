package views

import (
	"net/url"
	"strconv"

	"github.com/flowforge/flowforge/views/ui"
)

// AdminURL is the tree of tenants, departments, teams and projects.
func AdminURL() string { return "/admin" }

// AdminNodeURL is the page of a node of the tree.
func AdminNodeURL(id string) string { return "/admin/nodes/" + url.PathEscape(id) }

// AdminNewURL opens the form that creates a node of a kind below parent.
func AdminNewURL(parent, kind string) string {
	return AdminURL() + "?" + url.Values{"new": {kind}, "in": {parent}}.Encode() + "#edit"
}

// AdminEditURL opens the form that changes a node.
func AdminEditURL(id string) string { return AdminURL() + "?edit=" + url.QueryEscape(id) + "#edit" }

// AdminNodesURL creates nodes by POST.
func AdminNodesURL() string { return "/admin/nodes" }

// AdminUsersURL lists the users of the installation.
func AdminUsersURL() string { return "/admin/users" }

// AdminUserURL is the page of a user.
func AdminUserURL(id string) string { return AdminUsersURL() + "/" + url.PathEscape(id) }

// AuditURL is the audit log.
func AuditURL() string { return "/admin/audit" }

// AuditOfURL is the audit log of one object.
func AuditOfURL(id string) string { return AuditURL() + "?object=" + url.QueryEscape(id) }

// AdminNotice reports the result of an action.
type AdminNotice struct {
	Kind         string // of ui.Notice
	Strong, Text string
}

// AdminProblems is the error summary of a form.
type AdminProblems struct {
	Title string
	Links []ui.Crumb
}

// AdminField is one field of a form.
type AdminField struct {
	ID, Name, Label, Help, Value, Error string
	Optional                            bool
	Email                               bool        // the field is an e-mail address
	Options                             []ui.Option // if set, the field is a select
	List                                []string    // suggestions for free text
}

func (f AdminField) describedBy() string {
	ids := ""
	if f.Help != "" {
		ids = f.ID + "-help"
	}
	if f.Error != "" {
		if ids != "" {
			ids += " "
		}
		ids += f.ID + "-error"
	}
	return ids
}

// AdminButton submits a form, to another address if URL is set.
type AdminButton struct {
	Text, URL       string
	Danger, Primary bool
}

// AdminForm is a form inside the page.
type AdminForm struct {
	ID, Label string // Label is the accessible name
	Action    string
	Text      string // explanation, if needed
	Hidden    []ui.Option
	Fields    []AdminField
	Buttons   []AdminButton // destructive buttons come last, so that Enter never triggers them
	CancelURL string
}

// AdminRow is a node in the tree.
type AdminRow struct {
	ID, Name, URL, Kind, Description string
	Depth                            int
	Archived, Outside                bool
	Members, Groups, Projects        string
	Adds                             []ui.Action // forms that create a child
	EditURL                          string
	Form                             *AdminForm // open below the row
}

// ElementID is the target of links to the row.
func (r AdminRow) ElementID() string { return "node-" + r.ID }

func (r AdminRow) indent() string { return "tree-" + strconv.Itoa(min(r.Depth, 5)) }

// AdminTree is the page of the tree.
type AdminTree struct {
	Page
	Tabs     []ui.Tab
	Query    string
	Root     string // id of the subtree shown; "" for all
	Archived bool
	Filtered bool
	Notice   *AdminNotice
	Problems *AdminProblems
	Rows     []AdminRow
	More     string // indicates that rows are omitted
	NewURL   string // form of a new tenant; "" without permission
}

// AdminMember is a role of a user at a node.
type AdminMember struct {
	Name, Email, URL  string
	Service, Disabled bool
	Role              string
	From, FromURL     string // the ancestor from which it is inherited; "" if assigned here
	Group             string // that grants it
	Since             ui.Moment
	By                string
	EditURL           string
	Form              *AdminForm
}

// AdminGroup is a role of a group at a node.
type AdminGroup struct {
	Provider, Group, Role string
	Members               string
	From, FromURL         string
	Since                 ui.Moment
	By                    string
	RemoveURL             string
}

// AdminAccount is a service account of a project.
type AdminAccount struct {
	Name, Role, Keys string
	LastUsed         ui.Moment
	Created          ui.Moment
	By               string
	Disabled         bool
	Action           string // POST that disables or enables it; "" without permission
}

// AdminRole describes a role.
type AdminRole struct{ Name, About string }

// AdminNode is the page of a node.
type AdminNode struct {
	Page
	Name, Kind, Description string
	Archived                bool
	Facts                   []ui.Fact
	Actions                 []ui.Action
	Notice                  *AdminNotice
	Problems                *AdminProblems
	Members                 []AdminMember
	MemberForm              *AdminForm
	Groups                  []AdminGroup
	GroupForm               *AdminForm
	Accounts                []AdminAccount
	AccountForm             *AdminForm
	HasAccounts             bool
	Below                   []AdminRow
	Adds                    []ui.Action
	HasBelow                bool
	Roles                   []AdminRole
}

// AdminUserRow is a user in the list.
type AdminUserRow struct {
	Name, URL, Email, Provider string
	Admin, Disabled            bool
	Roles, Sessions            string
	Seen                       ui.Moment
}

// AdminUsers lists the users of the installation.
type AdminUsers struct {
	Page
	Tabs     []ui.Tab
	Query    string
	Statuses []ui.Option
	Filtered bool
	Rows     []AdminUserRow
	Pager    ui.Pager
}

// AdminUserRole is a role of a user at a node.
type AdminUserRole struct {
	Place, URL, Kind, Role, Group string
	Archived                      bool
}

// AdminUser is the page of a user.
type AdminUser struct {
	Page
	ID, Name        string
	Admin, Disabled bool
	Facts           []ui.Fact
	Notice          *AdminNotice
	Roles           []AdminUserRole
	Forms           []AdminUserAction
}

// AdminUserAction is an action on a user, with its explanation.
type AdminUserAction struct {
	ID           string // of its dialog
	Action, Text string
	Ask          string // the question of its dialog; "" acts at once
	Button       AdminButton
}

func (a AdminUserAction) confirmation() ui.Confirmation {
	return ui.Confirmation{ID: a.ID, Title: a.Ask, Text: a.Text, Keep: "Cancel", Button: a.Button.Text, URL: a.Action}
}

// AuditDiff is one changed value.
type AuditDiff struct{ Name, Old, New string }

// AuditRow is an entry of the audit log.
type AuditRow struct {
	ID                    string
	At                    ui.Moment
	Actor, ActorURL       string
	Address               string
	Action, ActionText    string // the code, and the action in words
	Kind, Object, ObjectU string // ObjectU is its page, "" without one
	Summary               string
	Reason                string
	Diff                  []AuditDiff
	Facts                 []ui.Fact
}

// AuditPage is the audit log.
type AuditPage struct {
	Page
	Tabs            []ui.Tab
	Actor, Object   string
	Actions         []ui.Option
	Tenants         []ui.Option // empty if the user has only one
	From, To        string      // in the format of <input type="date">
	Zone            string
	Filtered        bool
	Problem         string
	Rows            []AuditRow
	Pager           ui.Pager
	CSVURL, JSONURL string
}

// open reports whether the form is open because a value was rejected.
func (f AdminForm) open() bool {
	for _, field := range f.Fields {
		if field.Error != "" {
			return true
		}
	}
	return false
}

func (m AdminUser) auditURL() string { return AuditURL() + "?actor=" + url.QueryEscape(m.ID) }
