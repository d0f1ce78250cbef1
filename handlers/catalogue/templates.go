package catalogue

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// templates lists the templates of operators, each with its latest version.
func (h *Pages) templates(w http.ResponseWriter, r *http.Request) error {
	all, err := h.Workflows.Templates(r.Context())
	if err != nil {
		return err
	}
	m := views.Templates{Page: h.Page.Base(r, "Operator templates", views.SectionWorkflows, views.Crumb{Name: "Workflows", URL: views.WorkflowsURL()})}
	seen := map[string]bool{}
	for _, t := range all {
		if !seen[t.Name] {
			seen[t.Name] = true
			m.Templates = append(m.Templates, h.templateLine(r, t))
		}
	}
	return web.Render(w, r, http.StatusOK, views.TemplatesPage(m))
}

func (h *Pages) templateLine(r *http.Request, t workflow.Template) views.TemplateLine {
	line := views.TemplateLine{
		Name: t.Name, Version: t.Version, Scope: "this project", Description: t.Description, By: t.CreatedBy,
		At: h.Page.Clock(r).Moment(t.CreatedAt), URL: views.TemplateURL(t.Name, t.Version),
	}
	if t.Global {
		line.Scope = "all projects"
	}
	return line
}

// template shows one version.
func (h *Pages) template(w http.ResponseWriter, r *http.Request) error {
	t, err := h.Workflows.Template(r.Context(), request.PathValue(r, "name"), r.URL.Query().Get("version"))
	if err != nil {
		return err
	}
	all, err := h.Workflows.Templates(r.Context())
	if err != nil {
		return err
	}
	var document bytes.Buffer
	if err := json.Indent(&document, t.Document, "", "  "); err != nil {
		return fmt.Errorf("template %s: %w", t.Name, err)
	}
	m := views.Template{
		Page: h.Page.Base(r, t.Name, views.SectionWorkflows, views.Crumb{Name: "Workflows", URL: views.WorkflowsURL()},
			views.Crumb{Name: "Operator templates", URL: views.TemplatesURL()}),
		TemplateLine: h.templateLine(r, t), Document: document.String(), Use: templateUse(t),
	}
	for _, other := range all {
		if other.Name == t.Name {
			m.Versions = append(m.Versions, h.templateLine(r, other))
		}
	}
	return web.Render(w, r, http.StatusOK, views.TemplatePage(m))
}

// templateUse is an example of a definition that uses a template.
func templateUse(t workflow.Template) string {
	var declared struct {
		Inputs []struct {
			Name string `json:"name"`
		} `json:"inputs"`
	}
	lines := []string{"operators:", "  - name: " + t.Name, "    template: " + t.Name + "@" + t.Version}
	if json.Unmarshal(t.Document, &declared) == nil && len(declared.Inputs) > 0 {
		lines = append(lines, "    inputs:")
		for _, in := range declared.Inputs {
			lines = append(lines, fmt.Sprintf("      - {name: %s, from: inputs.%s}", in.Name, in.Name))
		}
	}
	return strings.Join(lines, "\n")
}
