package launch

import (
	"net/http"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// renderDraft responds with the complete page.
func (h *Pages) renderDraft(w http.ResponseWriter, r *http.Request, status int, d *draft) error {
	return h.renderPage(w, r, status, d, nil, nil)
}

// renderPage responds with the form of a launch, or of a sweep with its errors.
func (h *Pages) renderPage(w http.ResponseWriter, r *http.Request, status int, d *draft, sweep *views.LaunchSweep, errors []forms.ErrorLine) error {
	form, err := h.Forms.Draw(r, d.drawn())
	if err != nil {
		return err
	}
	recent, err := h.recentInputs(r, d)
	if err != nil {
		return err
	}
	name := d.version.Name
	title, crumb := "Launch "+name, "Launch"
	if sweep != nil {
		title, crumb = "Sweep of "+name, "Sweep"
	}
	if d.failed != "" {
		title = "Error: " + title
	}
	page := views.LaunchPage{
		Page: h.Page.Base(r, crumb, views.SectionWorkflows,
			views.Crumb{Name: "Workflows", URL: views.WorkflowsURL()}, views.Crumb{Name: name, URL: views.WorkflowURL(d.ref)}),
		Workflow: launchWorkflow(d), View: d.mode, Key: d.key, Form: form,
		Name: d.name, Priorities: d.priorities(), Origin: d.origin, Failed: d.failed, ErrorLines: slices.Concat(d.atLines(d.problems, form.ErrorLines()), errors, d.optionLines(), d.presetErrorLines()), Recent: recent,
		Options: d.options.view(d.version, h.keepsWithout(d.version)),
		Sweep:   sweep, Kept: d.carried(),
	}
	page.Title = title
	if d.from != nil {
		page.From = d.from.String()
	}
	if page.Presets, err = h.presetPanel(r, d); err != nil {
		return err
	}
	if d.develops {
		if page.Develop, err = h.developed(r.Context(), h.Page.Clock(r), d.ref); err != nil {
			return err
		}
	}
	if d.origin != nil && d.origin.Reset != "" {
		page.Origin = differingFields(*d.origin, form)
	}
	env := h.Forms.Env(r)
	inputs, problems := d.check(env)
	if d.mode == views.LaunchPython || d.mode == views.LaunchCommand {
		page.Carried = d.values
	}
	if sweep == nil {
		page.Check = h.verdict(r, d, inputs, problems)
	} else {
		page.Check.States = h.form(r, d, nil).States()
	}
	return web.Render(w, r, status, views.LaunchView(page))
}

func launchWorkflow(d *draft) views.LaunchWorkflow {
	definition := d.version.Definition
	lead := strings.TrimSpace(definition.Description)
	if lead != "" && !strings.HasSuffix(lead, ".") {
		lead += "."
	}
	out := views.LaunchWorkflow{
		ID: d.workflow.ID.String(), Ref: d.ref, Name: d.version.Name, Version: d.version.Version,
		Lead: strings.TrimSpace(lead + " " + units.Plural(len(definition.Operators), "node", "nodes") + "."),
	}
	for _, v := range d.workflow.Versions {
		if v.Development && v.Version != d.version.Version {
			continue
		}
		name := v.Version
		if v.Version == d.workflow.Latest {
			name += ", latest"
		}
		out.Versions = append(out.Versions, ui.Option{Value: v.Version, Name: name, Selected: v.Version == d.version.Version})
	}
	return out
}

// priorities are the declared priority, if any, and the named ones.
func (d *draft) priorities() []ui.Option {
	declared := d.version.Definition.Priority
	if declared == nil {
		return priorities(d.priority)
	}
	own := ui.Option{Name: "Workflow default: " + strings.ToLower(query.Priority(*declared).String()), Selected: d.priority == ""}
	return append([]ui.Option{own}, priorities(d.priority)...)
}

// requestedPriority is the chosen priority, or the declared one.
func (d *draft) requestedPriority() (query.Priority, error) {
	if d.priority == "" {
		return query.Declared, nil
	}
	return query.ParsePriority(d.priority)
}

func priorities(chosen string) []ui.Option {
	options := []ui.Option{{Value: "NORMAL", Name: "Normal"}, {Value: "LOW", Name: "Low: after others"}, {Value: "HIGH", Name: "High: before others"}}
	for i := range options {
		options[i].Selected = strings.EqualFold(options[i].Value, chosen)
	}
	return options
}

// differingFields counts and lists the fields that differ from their defaults.
func differingFields(p views.Provenance, form *forms.Form) *views.Provenance {
	p.Differs = form.Changed()
	if n := len(p.Differs); n > 0 {
		p.Default = units.Plural(n, "value differs", "values differ") + " from the defaults:"
	} else {
		p.Default = "All values are defaults."
		p.Reset = ""
	}
	return &p
}

// verdict is the check of the values and of the requested resources.
func (h *Pages) verdict(r *http.Request, d *draft, inputs map[string]any, problems []forms.Problem) views.LaunchCheck {
	check := views.LaunchCheck{Ready: len(problems) == 0, Summary: "Ready to launch", Code: h.code(r, d, inputs, problems)}
	if check.Ready {
		check.Verdicts = append(check.Verdicts, views.Verdict{Tone: "ok", Strong: "All values are valid.", Text: counted(d.schema)})
	} else {
		form := h.form(r, d, problems)
		check.Summary = units.Plural(len(problems), "value needs attention", "values need attention")
		check.Verdicts = append(check.Verdicts, views.Verdict{Tone: "no", Strong: check.Summary + ".", Links: d.atLines(problems, form.ErrorLines())})
	}
	if d.mode == views.LaunchForm {
		check.States = h.form(r, d, nil).States()
	}
	h.forecastVerdict(r, d, &check)
	if inputs != nil {
		query := forms.Link(d.schema, inputs, forms.Defaults(d.schema, typeregistry.Env{Now: h.Now()}))
		query.Set("version", d.version.Version)
		check.Link = origin(r) + views.LaunchURL(d.ref) + "?" + query.Encode()
	}
	return check
}

// form is the form of the draft without the choices of the catalogue.
func (h *Pages) form(r *http.Request, d *draft, problems []forms.Problem) *forms.Form {
	config := forms.Config{Schema: d.schema, Values: d.values, Problems: problems, Today: h.Forms.Today(r), Now: h.Now()}
	if d.sweep != nil {
		config.Varied = d.sweep.varies()
	}
	if d.schedule != nil {
		config.Varied = d.schedule.tags.names()
	}
	return forms.New(config)
}

func counted(schema typeregistry.Schema) string {
	if len(schema.Fields) == 0 {
		return "This version has no inputs."
	}
	return units.Plural(len(schema.Fields), "input", "inputs") + " checked."
}

// origin is the address of this server in the reader's browser.
func origin(r *http.Request) string {
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	return scheme + r.Host
}
