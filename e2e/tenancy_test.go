package e2e

import (
	"testing"

	"github.com/playwright-community/playwright-go"
)

// TestAdministratorBuildsATree: an administrator creates a department with a team and a
// project, invites a group, and finds everything in the audit log, with JavaScript and
// without.
func TestAdministratorBuildsATree(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]options{"script": {}, "no script": {noScript: true}, "phone": {width: 390}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o.tolerates = []string{"status of 409"} // the name is already used
			page := open(t, o)
			department, team, project := "Research "+name, "Vision "+name, "defects "+name
			visit(t, page, "/admin")
			addBelow(t, page, "Department", "local", department)
			addBelow(t, page, "Team", department, team)
			addBelow(t, page, "Project", team, project)
			click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Project: add one to " + team, Exact: new(true)}))
			fill(t, page.GetByLabel("Name of the project"), project)
			click(t, button(page, "Create the project"))
			visible(t, page.Locator(".error-summary"))
			visible(t, page.Locator(".field-error"))
			if !o.noScript {
				audit(t, page)
			}
			noSidewaysScroll(t, page)
			click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Cancel"}))

			click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: team, Exact: new(true)}))
			click(t, page.Locator("#groups summary"))
			group := page.Locator("#groups")
			fill(t, group.GetByRole("textbox", playwright.LocatorGetByRoleOptions{Name: "Group"}), "ml-vision")
			click(t, group.GetByRole("button", playwright.LocatorGetByRoleOptions{Name: "Add group"}))
			holds(t, page.Locator("#groups table"), "ml-vision")
			if !o.noScript {
				audit(t, page)
			}
			noSidewaysScroll(t, page)

			click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Changes"}))
			log := page.Locator(".audit-list")
			holds(t, log, "added a group to "+team)
			holds(t, log, "created "+team)
			click(t, log.Locator("summary").First())
			visible(t, log.Locator("ins").First())
			holds(t, log, "ml-vision")
			if !o.noScript {
				audit(t, page)
			}
			noSidewaysScroll(t, page)
		})
	}
}

// addBelow creates a node below parent with the form in the tree.
func addBelow(t *testing.T, page playwright.Page, kind, parent, name string) {
	t.Helper()
	click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: kind + ": add one to " + parent, Exact: new(true)}).First())
	form := page.Locator("#edit")
	fill(t, form.GetByLabel("Name of the"), name)
	click(t, form.GetByRole("button", playwright.LocatorGetByRoleOptions{Name: "Create the"}))
	visible(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: name, Exact: new(true)}))
}

// TestAdminPagesAreForEveryone: the administration pages are accessible in every state.
func TestAdminPagesAreForEveryone(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]options{"light": {}, "dark": {dark: true}, "phone": {width: 390}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page := open(t, o)
			for _, view := range []string{
				"admin", "admin-new", "admin-archive", "admin-none", "admin-team", "admin-project", "admin-project-new", "admin-users", "admin-user", "audit", "audit-empty",
			} {
				visit(t, page, "/dev/gallery/"+view)
				noSidewaysScroll(t, page)
				audit(t, page)
			}
		})
	}
}
