package views

import "strings"

// maxProjectChoices is the number of projects in the switcher; users find the others by
// name.
const maxProjectChoices = 8

// Project is an entry of the project switcher.
type Project struct {
	ID      string
	Name    string
	Path    string // "Research › Vision": its parents, without the tenant
	Tenant  string // if the user has projects of several tenants
	Current bool
}

// Projects is the project of a page and the projects that the user may switch to.
type Projects struct {
	Current  Project   // zero for a user without a project
	Visiting bool      // the page belongs to another project than the selected one
	Choices  []Project // the current one, and the first of the others
	All      int       // total number
}

// ChooseProjects returns the switcher of a user with the projects all, on a page of the
// project marked Current.
func ChooseProjects(all []Project, visiting bool) Projects {
	p := Projects{Visiting: visiting, All: len(all)}
	for _, one := range all {
		if one.Current {
			p.Current, p.Choices = one, []Project{one}
		}
	}
	for _, one := range all {
		if !one.Current && len(p.Choices) < maxProjectChoices {
			p.Choices = append(p.Choices, one)
		}
	}
	return p
}

// FindProjects returns the projects whose name, path or tenant contains text.
func FindProjects(all []Project, text string) []Project {
	text = strings.ToLower(strings.TrimSpace(text))
	var found []Project
	for _, p := range all {
		if strings.Contains(strings.ToLower(p.where()+" › "+p.Name), text) {
			found = append(found, p)
		}
	}
	return found
}

// where is the path of a project with its tenant.
func (p Project) where() string {
	if p.Tenant == "" || p.Path == "" {
		return p.Tenant + p.Path
	}
	return p.Tenant + " › " + p.Path
}

// monogram is the first two letters of a project's name.
func (p Project) monogram() string {
	letters := []rune(strings.ToUpper(p.Name))
	return string(letters[:min(len(letters), 2)])
}

// ProjectsList is the page of the user's projects.
type ProjectsList struct {
	Page

	Query string
	Found []Project
}

// ProjectURL selects a project by POST.
func ProjectURL() string { return "/preferences/project" }

// ProjectsURL lists and searches the user's projects.
func ProjectsURL() string { return "/projects" }
