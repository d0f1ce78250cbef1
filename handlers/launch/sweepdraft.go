package launch

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/sweep/space"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
)

// sweepDraft contains the submitted settings of a sweep.
type sweepDraft struct {
	sent   url.Values // of the controls of a sweep
	varied []varied
	fields []views.ManyField
	order  []int // the fields that take many values, in the order of the space
	errors map[string]string
}

// newSweepDraft reads the controls of a sweep.
func (d *draft) newSweepDraft(env typeregistry.Env) *sweepDraft {
	s := &sweepDraft{sent: d.kept, varied: variable(d.schema, env), errors: map[string]string{}}
	for _, v := range s.varied {
		s.fields = append(s.fields, manyField(v, s.sent))
	}
	return s
}

// keptControls are the submitted controls that only the form of a sweep has, and controls that
// it lacks.
func keptControls(sent url.Values) url.Values {
	out := url.Values{}
	for name, v := range sent {
		if strings.HasPrefix(name, views.SweepPrefix) || ofOneLaunch(name) {
			out[name] = v
		}
	}
	return out
}

// ofOneLaunch reports whether a control is an option that only the form of one execution has.
func ofOneLaunch(name string) bool {
	_, kept := keptFields()[name]
	return kept || name == "cache" || strings.HasPrefix(name, cachePrefix)
}

// carried are the controls that the form keeps without showing them.
func (d *draft) carried() url.Values {
	out := url.Values{}
	for name, v := range d.kept {
		if ofOneLaunch(name) == (d.sweep != nil) {
			out[name] = v
		}
	}
	return out
}

func (s *sweepDraft) get(name string) string {
	return strings.TrimSpace(s.sent.Get(views.SweepPrefix + name))
}

// many draws the controls that take many values for the input at a path.
func (s *sweepDraft) many(path string) templ.Component {
	for _, f := range s.fields {
		if f.Path == path {
			return views.ManyBlock(f)
		}
	}
	return nil
}

// varies lists the inputs that the sweep varies, in whole or in part.
func (s *sweepDraft) varies() []string {
	var names []string
	for _, f := range s.fields {
		if name, _, _ := strings.Cut(f.Path, "."); f.On && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// covers reports whether the sweep varies the value at a path, or an object that contains it.
func (s *sweepDraft) covers(path string) bool {
	return slices.ContainsFunc(s.fields, func(f views.ManyField) bool {
		return f.On && (path == f.Path || strings.HasPrefix(path, f.Path+"."))
	})
}

// spec is the sweep that the form describes. It ignores problems of inputs that the sweep
// varies, because other values replace them.
func (d *draft) spec(s *sweepDraft, env typeregistry.Env) (sweep.Spec, []forms.Problem) {
	inputs, problems := d.check(env)
	following := d.schema.Following(s.varies())
	problems = slices.DeleteFunc(problems, func(p forms.Problem) bool {
		name, _, _ := strings.Cut(p.Path, ".")
		return s.covers(p.Path) || following[name]
	})
	if d.mode != views.LaunchYAML { // the values of fields that only some runs have
		all, _ := d.schema.DecodeForm(typeregistry.Form{Values: d.values}, forms.Prefix)
		for name := range following {
			if v, ok := all[name]; ok && v != nil && inputs != nil {
				inputs[name] = v
			}
		}
	}
	spec := sweep.Spec{
		Workflow: d.workflow.ID.String(), Version: d.version.Version, Name: d.name, Inputs: map[string]any{}, Tags: d.options.tags, Note: d.options.note,
		Method: sweep.Method(s.get("method")), EarlyStopping: sweep.EarlyStopping{Rule: sweep.Rule(s.get("rule"))},
	}
	for name, v := range inputs {
		if !s.covers(name) {
			spec.Inputs[name] = v
		}
	}
	s.order = nil
	for i := range s.fields {
		if !s.fields[i].On {
			continue
		}
		p, faults := parameter(s.varied[i], s.fields[i])
		s.fields[i].Errors = append(s.fields[i].Errors, faults...)
		spec.Space, s.order = append(spec.Space, p), append(s.order, i)
	}
	s.numbers(&spec)
	if name := s.get("objective"); name != "" {
		spec.Objective = &sweep.Objective{Goal: sweep.Goal(s.get("goal")), Value: s.get("value")}
		if s.get("objective_kind") == "output" {
			spec.Objective.Output, spec.Objective.Value = name, ""
		} else {
			spec.Objective.Metric = name
		}
	}
	priority, err := d.requestedPriority()
	if err != nil {
		s.errors["priority"] = apperr.MessageOf(err)
	}
	spec.Priority = priority
	return spec, problems
}

// numbers reads the options that are numbers.
func (s *sweepDraft) numbers(spec *sweep.Spec) {
	whole := func(name string) int64 {
		text := s.get(name)
		if text == "" {
			return 0
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			s.errors[name] = fmt.Sprintf("%q is not a whole number. Enter 1 or more.", text)
		}
		return n
	}
	spec.Runs, spec.Parallelism, spec.Seed = int(whole("runs")), int(whole("parallelism")), whole("seed")
	if rule := spec.EarlyStopping.Rule; rule == sweep.Median || rule == sweep.Halving {
		spec.EarlyStopping.MinStep = whole("min_step")
		if rule == sweep.Median {
			spec.EarlyStopping.MinRuns = int(whole("min_runs"))
		} else {
			spec.EarlyStopping.Factor = int(whole("factor"))
		}
	}
	if text := s.get("gpu_hours"); text != "" {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			s.errors["gpu_hours"] = fmt.Sprintf("%q is not a number. Enter GPU-hours such as 8 or 0.5.", text)
		}
		spec.GPUHours = n
	}
}

// failed reports whether the form has values that cannot be sent.
func (s *sweepDraft) failed() bool {
	return len(s.errors) > 0 || slices.ContainsFunc(s.fields, func(f views.ManyField) bool { return len(f.Errors) > 0 })
}

// blame assigns the errors of fields to their controls, and returns problems of inputs.
func (s *sweepDraft) blame(fields []apperr.Field) []forms.Problem {
	var problems []forms.Problem
	for _, f := range fields {
		area, rest, _ := strings.Cut(f.Path, ".")
		switch area {
		case "space":
			index, part, _ := strings.Cut(rest, ".")
			if i, err := strconv.Atoi(index); err == nil && i < len(s.order) {
				field := &s.fields[s.order[i]]
				field.Errors = append(field.Errors, partName(part)+f.Message)
			} else {
				s.errors["space"] = f.Message
			}
		case forms.Prefix:
			if !s.covers(rest) {
				problems = append(problems, forms.Problem{Path: rest, Message: f.Message})
			} else {
				s.errors["space"] = f.Message
			}
		case "objective", "method", "runs", "parallelism", "gpu_hours", "seed", "name", "priority", "tags", "note":
			s.errors[area] = f.Message
		case "early_stopping":
			s.errors[rest] = f.Message
		default:
			s.errors["space"] = f.Message
		}
	}
	return problems
}

// partName begins the message about a part of a parameter.
func partName(part string) string {
	name, _, _ := strings.Cut(part, ".")
	names := map[string]string{"from": "From", "to": "To", "scale": "Scale", "step": "Step", "steps": "Number of values", "mean": "Mean", "deviation": "Deviation"}
	if names[name] == "" {
		return ""
	}
	return names[name] + ": "
}

// sweepLabels are the controls with errors in the order of the page.
func sweepLabels() [][2]string {
	return [][2]string{
		{"space", "Inputs"}, {"method", "Method"}, {"runs", "Number of runs"}, {"parallelism", "Concurrent runs"}, {"objective", "Objective"},
		{"rule", "Early stopping"}, {"min_step", "First step"}, {"min_runs", "Runs before the median"}, {"factor", "Halving factor"},
		{"gpu_hours", "Budget"}, {"seed", "Seed"}, {"name", "Name"}, {"priority", "Priority"},
		{"tags", "Tags"}, {"note", "Note"},
	}
}

// errorLines are the lines of the error summary.
func (s *sweepDraft) errorLines() []forms.ErrorLine {
	var lines []forms.ErrorLine
	for _, f := range s.fields {
		lines = append(lines, f.ErrorLines()...)
	}
	for _, l := range sweepLabels() {
		if message := s.errors[l[0]]; message != "" {
			target := "sweep-" + l[0]
			switch l[0] {
			case "space":
				target = ""
				message = l[1] + ": " + message
			case "name", "priority", "tags", "note":
				target = "execution-" + l[0]
			}
			lines = append(lines, forms.ErrorLine{Target: target, Label: l[1], Text: message})
		}
	}
	return lines
}

// view is the part of the form about the sweep.
func (s *sweepDraft) view(known []string) views.LaunchSweep {
	or := func(name, otherwise string) string {
		if v := s.get(name); v != "" {
			return v
		}
		return otherwise
	}
	out := views.LaunchSweep{
		Errors: s.errors, Runs: s.get("runs"), Parallel: s.get("parallelism"), Objective: s.get("objective"), Known: known,
		Lower: s.get("goal") == string(sweep.Minimize), Last: s.get("value") == sweep.LastValue,
		MinStep: s.get("min_step"), MinRuns: s.get("min_runs"), Factor: s.get("factor"), GPUHours: s.get("gpu_hours"), Seed: s.get("seed"),
		Methods: sweepCards(or("method", string(sweep.Random)), [][3]string{
			{string(sweep.Grid), "Grid", "every combination"}, {string(sweep.Random), "Random", "independent draws"},
			{string(sweep.Sobol), "Sobol", "covers the space evenly"}, {string(sweep.TPE), "TPE", "learns from finished runs"},
		}),
		Rules: sweepCards(or("rule", string(sweep.NoRule)), [][3]string{
			{string(sweep.NoRule), "None", "every run finishes"}, {string(sweep.Median), "Median", "stops runs below the median at the same step"},
			{string(sweep.Halving), "Successive halving", "stops the weakest at each rung"},
		}),
	}
	if !s.sent.Has(views.SweepPrefix + "method") { // the form as it is drawn first
		out.Runs, out.Parallel = "20", strconv.Itoa(sweep.DefaultParallel)
	}
	for _, k := range [][2]string{{"metric", "Metric"}, {"output", "Output"}} {
		out.Kinds = append(out.Kinds, ui.Option{Value: k[0], Name: k[1], Selected: s.get("objective_kind") == k[0]})
	}
	for _, f := range s.fields {
		out.ManyErrors = append(out.ManyErrors, views.ManyErrors{Path: f.Path, Texts: f.Errors})
	}
	return out
}

func sweepCards(chosen string, cards [][3]string) []views.SweepCard {
	var out []views.SweepCard
	for _, c := range cards {
		out = append(out, views.SweepCard{Value: c[0], Name: c[1], Text: c[2], On: c[0] == chosen})
	}
	return out
}

// fill sets the controls to the settings of a sweep.
func (s *sweepDraft) fill(sw sweep.Sweep) url.Values {
	out := url.Values{}
	set := func(name, value string) { out.Set(views.SweepPrefix+name, value) }
	whole := func(name string, n int64) {
		if n != 0 {
			set(name, strconv.FormatInt(n, 10))
		}
	}
	for _, p := range sw.Space {
		for _, v := range s.varied {
			if v.path == p.Path {
				maps.Copy(out, controls(p, v.lined()))
			}
		}
	}
	set("method", string(sw.Method))
	set("rule", string(sw.EarlyStopping.Rule))
	whole("runs", int64(sw.Planned))
	whole("parallelism", int64(sw.Parallelism))
	whole("min_step", sw.EarlyStopping.MinStep)
	whole("min_runs", int64(sw.EarlyStopping.MinRuns))
	whole("factor", int64(sw.EarlyStopping.Factor))
	if sw.GPUHours > 0 {
		set("gpu_hours", plainNumber(sw.GPUHours))
	}
	if o := sw.Objective; o != nil {
		kind := "metric"
		if o.Output != "" {
			kind = "output"
		}
		set("objective_kind", kind)
		set("objective", o.Name())
		set("goal", string(o.Goal))
		set("value", o.Value)
	}
	return out
}

// plainNumber is a number as a control contains it: without separators and exponents.
func plainNumber(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// firstRuns are the values of the first runs as a table.
func firstRuns(order []space.Parameter, first []space.Combination) (columns []string, rows [][]string) {
	for _, p := range order {
		columns = append(columns, p.Path[strings.LastIndexByte(p.Path, '.')+1:])
	}
	for i, c := range first {
		row := []string{units.Number(int64(i + 1))}
		for _, p := range order {
			row = append(row, ui.Short(space.Text(c[p.Path]), 24))
		}
		rows = append(rows, row)
	}
	return columns, rows
}
