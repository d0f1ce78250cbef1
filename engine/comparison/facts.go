package comparison

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/engine/comparison/sheet"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/search"
	"github.com/flowforge/flowforge/engine/workflow"
)

// gatherer collects the facts of executions.
type gatherer struct {
	s       *Service
	ids     []uuid.UUID
	list    []query.Execution
	columns [][]sheet.Fact
	known   map[uuid.UUID]artifact.Artifact // of the executions, and of references
	metrics map[string]bool
	notes   []string
}

func (g *gatherer) add(i int, facts ...sheet.Fact) { g.columns[i] = append(g.columns[i], facts...) }

// gather collects all facts.
func (g *gatherer) gather(ctx context.Context) error {
	hours, err := g.s.Usage.HoursOfSeveral(ctx, g.ids)
	if err != nil {
		return err
	}
	if err := g.artifacts(ctx); err != nil {
		return err
	}
	if err := g.plain(ctx, hours); err != nil {
		return err
	}
	return g.totals(ctx)
}

// plain collects the facts that executions can be grouped by, without artifacts and metrics.
func (g *gatherer) plain(ctx context.Context, hours map[uuid.UUID]query.Hours) error {
	versions := make([]uuid.UUID, len(g.list))
	for i, e := range g.list {
		versions[i] = e.VersionID
	}
	found, err := g.s.Workflows.VersionsByID(ctx, versions)
	if err != nil {
		return err
	}
	values := make([][]sheet.Fact, len(g.list))
	for i, e := range g.list {
		values[i] = append(valueFacts(sheet.Inputs, e.Inputs), valueFacts(sheet.Outputs, e.Outputs)...)
	}
	if err := g.refer(ctx, values); err != nil {
		return err
	}
	for i, e := range g.list {
		g.add(i, g.summary(e, hours[e.ID])...)
		g.add(i, values[i]...)
		if v, ok := found[e.VersionID]; ok {
			g.add(i, definitionFacts(v)...)
		}
	}
	return nil
}

// summary is what every execution has.
func (g *gatherer) summary(e query.Execution, hours query.Hours) []sheet.Fact {
	end := g.s.Now()
	if e.FinishedAt != nil {
		end = *e.FinishedAt
	}
	begin := e.CreatedAt
	if e.StartedAt != nil {
		begin = *e.StartedAt
	}
	fact := func(path string, v any) sheet.Fact {
		return sheet.Fact{Section: sheet.Summary, Path: path, Value: v}
	}
	shorter := sheet.Lower
	if slices.ContainsFunc(g.list, func(e query.Execution) bool { return !e.Status.Ended() }) {
		shorter = "" // until all have ended
	}
	facts := []sheet.Fact{
		fact("state", string(e.Status)),
		{Section: sheet.Summary, Path: "duration", Value: end.Sub(begin).Seconds(), Unit: sheet.Seconds, Better: shorter},
		fact("launched by", e.SubmittedBy.Name), fact("workflow", e.WorkflowName), fact("version", e.Version), fact("nodes", e.Counts.Total),
	}
	if e.Counts.Failed > 0 {
		facts = append(facts, fact("failed nodes", e.Counts.Failed))
	}
	if e.Error != nil {
		facts = append(facts, fact("error", e.Error.Message))
	}
	if e.ResumeOf != nil {
		facts = append(facts, fact("resume of", "#"+Short(*e.ResumeOf)))
	}
	for _, h := range []struct {
		name  string
		value float64
	}{{"GPU-hours", hours.GPU}, {"CPU-hours", hours.CPU}, {"memory, GiB-hours", hours.Memory}} {
		if h.value > 0 {
			facts = append(facts, sheet.Fact{Section: sheet.Resources, Path: h.name, Value: h.value, Unit: sheet.Hours, Better: shorter})
		}
	}
	return facts
}

// valueFacts are inputs or outputs.
func valueFacts(section sheet.Section, values map[string]any) []sheet.Fact {
	var facts []sheet.Fact
	for _, name := range slices.Sorted(maps.Keys(values)) {
		for _, f := range sheet.Flatten(section, name, values[name]) {
			if section == sheet.Outputs && search.LowerIsBetter(f.Path) {
				f.Better = sheet.Lower
			}
			facts = append(facts, f)
		}
	}
	return facts
}

// refer makes references to artifacts compare by their bytes, with one query for those of other
// executions. A reference to a removed or unreadable artifact is compared by its id.
func (g *gatherer) refer(ctx context.Context, values [][]sheet.Fact) error {
	var unknown []uuid.UUID
	for _, facts := range values {
		for _, f := range facts {
			if id, ok := referenceOf(f.Value); ok && g.known[id].ID == uuid.Nil {
				unknown = append(unknown, id)
			}
		}
	}
	found, err := g.s.Artifacts.Several(ctx, unknown)
	if err != nil {
		return err
	}
	for _, a := range found {
		g.known[a.ID] = a
	}
	for _, facts := range values {
		for i, f := range facts {
			if id, ok := referenceOf(f.Value); ok && g.known[id].ID != uuid.Nil {
				facts[i] = artifactFact(f.Section, f.Path, g.known[id])
			}
		}
	}
	return nil
}

// referenceOf is the artifact that a value refers to.
func referenceOf(v any) (uuid.UUID, bool) {
	ref, ok := v.(map[string]any)
	if !ok {
		return uuid.Nil, false
	}
	text, ok := ref["$artifact"].(string)
	if !ok {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(text)
	return id, err == nil // otherwise it is an author's own value
}

func artifactFact(section sheet.Section, path string, a artifact.Artifact) sheet.Fact {
	return sheet.Fact{
		Section: section, Path: path, Same: a.SHA256, Artifact: a.ID.String(),
		Value: map[string]any{"artifact_id": a.ID, "sha256": a.SHA256, "size_bytes": a.Size, "type": a.Type},
	}
}

func (g *gatherer) artifacts(ctx context.Context) error {
	projects := make([]uuid.UUID, len(g.list))
	for i, e := range g.list {
		projects[i] = e.ProjectID
	}
	found, cut, err := g.s.Artifacts.OfExecutions(ctx, g.ids, projects, maxArtifacts)
	if err != nil {
		return err
	}
	for _, a := range found {
		g.known[a.ID] = a
		g.add(slices.Index(g.ids, a.ExecutionID), artifactFact(sheet.Artifacts, a.Node+"."+a.Name, a))
	}
	for _, id := range cut {
		g.notes = append(g.notes, fmt.Sprintf("#%s has more than %d artifacts; the first ones are compared.", Short(id), maxArtifacts))
	}
	return nil
}

// definitionFacts describe a version: its hash, code, environment and resources.
func definitionFacts(v workflow.Version) []sheet.Fact {
	fact := func(section sheet.Section, path string, value any) sheet.Fact {
		return sheet.Fact{Section: section, Path: path, Value: value}
	}
	facts := []sheet.Fact{fact(sheet.Definition, "SHA-256", hex.EncodeToString(v.ContentHash))}
	if p, ok := v.Definition.Python(); ok {
		facts = append(facts, fact(sheet.Code, "package", strings.TrimPrefix(p.Package, "sha256:")), fact(sheet.Code, "function", p.Function))
		if p.Git.Commit != "" {
			facts = append(facts, fact(sheet.Code, "commit", p.Git.Commit), fact(sheet.Code, "uncommitted changes", p.Git.Dirty))
		}
		if p.Git.Branch != "" {
			facts = append(facts, fact(sheet.Code, "branch", p.Git.Branch))
		}
	}
	for path, op := range v.Definition.EveryOperator() {
		facts = append(facts, operatorFacts(path, op)...)
	}
	return facts
}

func operatorFacts(path string, op *workflow.Operator) []sheet.Fact {
	var facts []sheet.Fact
	add := func(section sheet.Section, name string, value any, unit sheet.Unit) {
		facts = append(facts, sheet.Fact{Section: section, Path: path + "." + name, Value: value, Unit: unit})
	}
	c, r := op.Code, op.Resources
	if command := strings.Join(append(slices.Clone(c.Command), c.Args...), " "); command != "" {
		add(sheet.Code, "command", command, "")
	}
	for name, text := range map[string]string{"script": c.Script, "file": c.File, "workflow": op.Workflow} {
		if text != "" {
			add(sheet.Code, name, text, "")
		}
	}
	if c.Image != "" {
		add(sheet.Environment, "image", c.Image, "")
	}
	for _, line := range c.Requirements {
		name, spec := requirement(line)
		add(sheet.Environment, name, spec, "")
	}
	for name, value := range op.Environment {
		add(sheet.Environment, "$"+name, value, "")
	}
	for _, n := range []struct {
		name  string
		value float64
		unit  sheet.Unit
	}{
		{"cpu", float64(r.CPUMillis) / 1000, ""}, {"memory", float64(r.MemoryMiB) * (1 << 20), sheet.Bytes}, {"gpus", float64(r.GPUs), ""},
		{"storage", float64(r.StorageMiB) * (1 << 20), sheet.Bytes}, {"pods", float64(r.Pods), ""},
	} {
		if n.value > 0 {
			add(sheet.Resources, n.name, n.value, n.unit)
		}
	}
	if r.GPUType != "" {
		add(sheet.Resources, "gpu_type", r.GPUType, "")
	}
	return facts
}

// requirement splits a line of a requirements file into the package and the rest.
func requirement(line string) (name, spec string) {
	line, _, _ = strings.Cut(line, " #")
	line = strings.TrimSpace(line)
	at := strings.IndexAny(line, "=<>!~ @[;")
	if at <= 0 {
		return line, "any version"
	}
	return line[:at], cmp.Or(strings.TrimSpace(line[at:]), "any version")
}
