package views

import "strings"

// maxProjectChoices is how many projects the switcher offers at once; the others
// are found by their names.
const maxProjectChoices = 8

// Project is a project as its members choose it.
type Project struct {
	ID      string
	Name    string
	Path    string // "Research › Vision": what it is below, without the tenant
	Tenant  string // where the reader has projects of several
	Current bool
}

// Projects is the project that a page is of, and those that the reader may go to.
type Projects struct {
	Current  Project   // zero for somebody without any
	Visiting bool      // the page is of a project that is not the chosen one
	Choices  []Project // the current one, and the first of the others
	All      int       // how many there are
}

// ChooseProjects returns the switcher of a reader who has all, and looks at a page
// of the one that is Current.
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

// FindProjects returns the projects whose name, path or tenant holds text.
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

// ProjectsList is the page of the reader's projects.
type ProjectsList struct {
	Page

	Query string
	Found []Project
}

// ProjectURL makes a project the current one by POST.
func ProjectURL() string { return "/preferences/project" }

// ProjectsURL lists and finds the reader's projects.
func ProjectsURL() string { return "/projects" }
