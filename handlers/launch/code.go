package launch

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/launchfile"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/forms"
)

// ofFile is the prefix of the paths of problems of the file itself. Other paths name inputs.
const ofFile = "$file."

// fileDraft is what the text of the YAML view contains.
type fileDraft struct {
	inputs   map[string]any // nil if the text cannot be read
	lines    launchfile.Lines
	problems []forms.Problem
	key      string // the idempotency key
}

// readFile reads the text of the YAML view. Name, priority and options of the launch are those of
// the file.
func (d *draft) readFile() {
	f, lines, problems := launchfile.Parse(d.text)
	d.file = fileDraft{inputs: f.Inputs, lines: lines, key: f.Key}
	for _, p := range problems {
		path := p.Path
		if path == "" {
			path = "file"
			lines[path] = p.Line
		}
		d.file.problems = append(d.file.problems, forms.Problem{Path: ofFile + path, Message: p.Message})
	}
	if f.Inputs == nil {
		return
	}
	d.name, d.priority = f.Name, f.Priority
	d.options = launchOptions{cache: f.Cache, cacheOf: f.CacheOf, kept: f.TTL, tags: f.Tags, note: f.Note, faults: map[string]string{}}
	fail := func(path, format string, args ...any) {
		d.file.problems = append(d.file.problems, forms.Problem{Path: ofFile + path, Message: fmt.Sprintf(format, args...)})
	}
	if name := d.version.Name; f.Workflow != "" && f.Workflow != name && f.Workflow != d.ref && f.Workflow != d.workflow.ID.String() {
		fail("workflow", "This form launches %s. To launch %s, open its form.", name, f.Workflow)
	}
	if f.Version != "" && f.Version != d.version.Version {
		fail("version", "This form launches version %s. To launch version %s, choose it at the top of the page.", d.version.Version, f.Version)
	}
	if _, err := query.ParsePriority(f.Priority); err != nil {
		fail("priority", "Enter LOW, NORMAL, HIGH or a number from 0 to 100.")
	}
	if f.Preset != "" {
		fail("preset", "Choose the preset next to the form and remove this line, or launch the file with flowforge launch --file.")
	}
}

// launchFile is the launch of the draft as a file with these inputs.
func (d *draft) launchFile(inputs map[string]any) launchfile.File {
	f := launchfile.File{
		Workflow: d.version.Name, Version: d.version.Version, Name: d.name, Priority: strings.ToUpper(d.priority),
		Inputs: forms.Plain(d.schema, forms.Given(d.schema, inputs)), CacheOf: d.options.cacheOf, TTL: d.options.kept,
		Tags: d.options.tags, Note: d.options.note,
	}
	if f.Priority == query.Normal.String() && d.version.Definition.Priority == nil {
		f.Priority = ""
	}
	if d.options.cache != "on" {
		f.Cache = d.options.cache
	}
	for _, field := range d.schema.Fields {
		f.Order = append(f.Order, field.Name)
	}
	return f
}

// code is the launch as text, in the views that show it.
func (h *Pages) code(r *http.Request, d *draft, inputs map[string]any, problems []forms.Problem) views.LaunchCode {
	code := views.LaunchCode{View: d.mode}
	switch d.mode {
	case views.LaunchYAML:
		code.Text = d.text
		if len(problems) > 0 {
			code.Problems = d.atLines(problems, h.form(r, d, problems).ErrorLines())
		}
		return code
	case views.LaunchPython, views.LaunchCommand:
	default:
		return views.LaunchCode{}
	}
	file := d.launchFile(forms.Differing(d.schema, inputs, forms.Defaults(d.schema, typeregistry.Env{Now: h.Now()})))
	if d.mode == views.LaunchPython {
		code.Samples = []views.CodeSample{{ID: "launch-python", Title: "Python", Text: file.Python()}}
	} else {
		code.Samples = []views.CodeSample{
			{ID: "launch-command", Title: "Command line", Text: file.Command()},
			{ID: "launch-curl", Title: "API", Note: "FLOWFORGE_TOKEN is one of your API keys.", Text: file.Curl(origin(r))},
		}
	}
	code.Refused = len(problems) > 0
	return code
}

// atLines moves the errors of values from the controls of the form to the lines of the file.
func (d *draft) atLines(problems []forms.Problem, lines []forms.ErrorLine) []forms.ErrorLine {
	if d.mode != views.LaunchYAML {
		return lines
	}
	out := make([]forms.ErrorLine, 0, len(lines))
	for i, p := range problems {
		path, own := strings.CutPrefix(p.Path, ofFile)
		line := forms.ErrorLine{Target: views.LaunchTextID, Label: lines[i].Label, Text: p.Message}
		if own {
			line.Label, line.Line = "", d.file.lines.Of(path)
		} else {
			line.Line = d.file.lines.Of("inputs." + path)
		}
		line.Line = max(line.Line, 1)
		out = append(out, line)
	}
	return out
}

// optionLines are the errors of options, at their controls or lines.
func (d *draft) optionLines() []forms.ErrorLine {
	lines := d.options.errorLines()
	if d.mode != views.LaunchYAML {
		return lines
	}
	for i, path := range d.options.faultPaths() {
		lines[i].Target, lines[i].Line = views.LaunchTextID, max(d.file.lines.Of(path), 1)
	}
	return lines
}
