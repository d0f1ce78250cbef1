package execution

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/execution/stored"
)

const labelPrefix = "workflow.labels."

// constants returns the tags with the same value in every operator: those of the definition,
// and the labels that the launch computed.
func (p *tagScope) constants() map[string]string {
	l, vs := p.loop, p.loop.values
	if len(l.version.Definition.Labels) == 0 {
		return l.version.Definition.Constants
	}
	if vs.constants == nil {
		vs.constants = maps.Clone(l.version.Definition.Constants)
		labels := stored.Object(l.row.Labels)
		if l.row.Labels == nil { // launched by an earlier version
			for name, text := range p.labels() {
				vs.constants[labelPrefix+name] = text
			}
		}
		for name, label := range labels {
			vs.constants[labelPrefix+name] = textOf(label)
		}
		vs.constants["workflow.labels"] = labelsText(vs.constants)
		vs.constants["workflow.labels.json"] = vs.constants["workflow.labels"]
	}
	return vs.constants
}

// labels computes the labels of a launch. A label whose expression fails or is not a text
// has no value, so a tag that names it is an error.
func (s *LaunchService) labels(ctx context.Context, l *launch) map[string]string {
	if len(l.version.Definition.Labels) == 0 {
		return nil
	}
	row := db.Execution{
		ID: l.id, WorkflowID: l.version.WorkflowID, WorkflowName: l.version.Name, Inputs: l.inputs, Priority: int32(l.request.Priority), //nolint:gosec // 0 to 100
		CreatedAt: l.now, Status: string(query.Pending),
	}
	return (&tagScope{ctx: ctx, loop: newLoop(s.driver, row, l.version), node: dag.NoNode}).labels()
}

// launchEnv returns the environment of expressions that a launch evaluates. It has no computed
// labels.
func (p *tagScope) launchEnv() map[string]any {
	env := map[string]any{"workflow": p.workflowEnv(nil)}
	constants := p.loop.version.Definition.Constants
	for _, name := range slices.Sorted(maps.Keys(constants)) {
		setPath(env, name, constants[name])
	}
	return env
}

// labels evaluates the labels of the definition.
func (p *tagScope) labels() map[string]string {
	definition, env := p.loop.version.Definition, p.launchEnv()
	values := make(map[string]string, len(definition.Labels))
	for name, e := range definition.Labels {
		if v, err := e.Value(env); err == nil {
			if text, ok := v.(string); ok {
				values[name] = text
			}
		}
	}
	return values
}

// labelsText is the JSON of the labels among constants.
func labelsText(constants map[string]string) string {
	labels := map[string]string{}
	for name, v := range constants {
		if label, ok := strings.CutPrefix(name, labelPrefix); ok && label != "json" {
			labels[label] = v
		}
	}
	text, _ := json.Marshal(labels) //nolint:errchkjson // texts always encode
	return string(text)
}
