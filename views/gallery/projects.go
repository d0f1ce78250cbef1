package gallery

import (
	"fmt"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views"
)

func projectEntries() []Entry {
	return []Entry{
		{"projects", "My projects", func(f views.Page) templ.Component { return views.ProjectsPage(projects(f, false)) }},
		{"projects-visit", "The switcher on a page of another project", func(f views.Page) templ.Component { return views.ProjectsPage(projects(f, true)) }},
		{"projects-none", "No project yet", func(f views.Page) templ.Component {
			return views.ProjectsPage(views.ProjectsList{Page: frame(f, "My projects", "")})
		}},
	}
}

func projects(f views.Page, visiting bool) views.ProjectsList {
	all := []views.Project{
		{Name: "digits", Path: "Research › Vision", Tenant: "Meridian"}, {Name: "street-scenes", Path: "Research › Vision", Tenant: "Meridian", Current: true},
		{Name: "feed-ranking", Path: "Ranking", Tenant: "Meridian"},
	}
	for i := range 9 {
		all = append(all, views.Project{Name: fmt.Sprintf("a-project-with-a-rather-long-name-%d", i), Path: "Products › Search and discovery › Query understanding", Tenant: "Atlas"})
	}
	for i := range all {
		all[i].ID = fmt.Sprintf("01910000-0000-7000-8000-%012d", i)
	}
	m := views.ProjectsList{Page: frame(f, "My projects", ""), Found: all}
	m.Projects = views.ChooseProjects(all, visiting)
	return m
}
