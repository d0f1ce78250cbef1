package execution

import (
	"maps"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/expression"
)

// env returns the environment of expressions: the nodes of the scope that they name, or all
// nodes when a name is computed at run time.
func (p *tagScope) env(expressions []*expression.Expression) (map[string]any, error) {
	l := p.loop
	env := map[string]any{"inputs": portsEnv(p.inputs), "workflow": p.workflowEnv(expressions)}
	for _, kind := range []string{"tasks", "steps"} {
		tasks := map[string]any{}
		if !p.own {
			tasks = p.tasksEnv(kind, expressions)
		}
		if _, task := tasks["name"]; !task && p.node != dag.NoNode {
			tasks["name"] = l.nodes[p.node].op.Name
		}
		env[kind] = tasks
	}
	if p.node != dag.NoNode {
		n := &l.nodes[p.node]
		if n.index >= 0 && !p.own {
			env["item"] = n.item
		}
		if p.own {
			env["pod"] = map[string]any{"name": attemptName(l.id, p.node, n.attempt)}
			env["node"] = map[string]any{"name": n.name}
			env["retries"] = n.retries
		}
	}
	overlay := func(names map[string]string) {
		for _, name := range slices.Sorted(maps.Keys(names)) {
			setPath(env, name, names[name])
		}
	}
	overlay(p.constants())
	if p.tags != nil {
		overlay(p.tags.Names)
	}
	overlay(p.ended)
	return env, p.broken
}

// setPath sets a.b.c of nested objects. Names of labels and annotations may contain dots.
func setPath(env map[string]any, name, value string) {
	parts := strings.Split(name, ".")
	if len(parts) > 3 && parts[0] == "workflow" && (parts[1] == "labels" || parts[1] == "annotations") {
		parts = []string{parts[0], parts[1], strings.Join(parts[2:], ".")}
	}
	for _, part := range parts[:len(parts)-1] {
		inner, ok := env[part].(map[string]any)
		if !ok {
			inner = map[string]any{}
			env[part] = inner
		}
		env = inner
	}
	env[parts[len(parts)-1]] = value
}

// portsEnv splits the values of ports into parameters and artifacts.
func portsEnv(values map[string]any) map[string]any {
	parameters, artifacts := map[string]any{}, map[string]any{}
	for name, v := range values {
		switch artifact, is := strings.CutPrefix(name, ArtifactPort); {
		case v == nil:
		case is:
			artifacts[artifact] = v
		case !strings.Contains(name, "."):
			parameters[name] = v
		}
	}
	return map[string]any{"parameters": parameters, "artifacts": artifacts}
}

// tasksEnv returns the environment of the nodes that expressions name.
func (p *tagScope) tasksEnv(kind string, expressions []*expression.Expression) map[string]any {
	names := map[string]bool{}
	for _, e := range expressions {
		for _, r := range e.References() {
			switch {
			case r.Path[0] != kind:
			case len(r.Path) > 1:
				names[r.Path[1]] = true
			default:
				base, size := p.loop.progress.Members(p.scope)
				for i := base; i < base+size; i++ {
					names[p.loop.nodes[i].op.Name] = true
				}
			}
		}
	}
	env := map[string]any{}
	for name := range names {
		if i, ok := p.task(name); ok {
			env[name] = p.taskEnv(i, name)
		}
	}
	return env
}

func (p *tagScope) taskEnv(i int, name string) map[string]any {
	env := map[string]any{}
	for _, of := range []string{"status", "id", "name", "startedAt", "finishedAt", "exitCode"} {
		if v, ok := p.taskTag(name, of); ok {
			env[of] = v
		}
	}
	if err := p.loop.values.loadOutputs(p.ctx, []int{i}); err != nil {
		p.broken = err
		return env
	}
	values, fans := p.outputsOf(i)
	if !fans {
		values = p.loop.values.withDefaults(i, values)
	}
	if fans {
		lists := values
		values = map[string]any{}
		for port, v := range lists {
			if list, ok := v.([]any); ok && !strings.HasPrefix(port, ArtifactPort) {
				values[port] = textOf(p.loop.values.loopOutput(i, port, list))
			}
		}
	}
	outputs := portsEnv(values)
	if v, ok := values[ResultPort]; ok && v != nil {
		outputs["result"] = v
	}
	if p.loop.nodes[i].op.KeepsAll() {
		for name, v := range values {
			if !strings.Contains(name, ".") && v != nil {
				outputs[name] = v
			}
		}
	}
	if v, ok := env["exitCode"]; ok {
		outputs["exitCode"] = v
	}
	env["outputs"] = outputs
	return env
}

func (p *tagScope) workflowEnv(expressions []*expression.Expression) map[string]any {
	env := map[string]any{}
	for _, of := range []string{"name", "namespace", "uid", "status", "priority", "duration", "creationTimestamp", "scheduledTime"} {
		env[of], _ = p.workflowTag(of)
	}
	references := func(e *expression.Expression) bool {
		return slices.ContainsFunc(e.References(), func(r expression.Reference) bool {
			return r.Path[0] == "workflow" && (len(r.Path) < 2 || r.Path[1] == "failures")
		})
	}
	if slices.ContainsFunc(expressions, references) {
		env["failures"] = textOf(p.loop.values.failuresTag())
	}
	ports := portsEnv(p.loop.inputs)
	env["parameters"] = ports["parameters"]
	if all, ok := ports["parameters"].(map[string]any); ok && all["json"] == nil {
		list, _ := p.workflowTag("parameters")
		all["json"] = textOf(list)
	}
	env["outputs"] = p.globalsEnv(expressions)
	return env
}

// globalsEnv returns the global outputs that expressions name.
func (p *tagScope) globalsEnv(expressions []*expression.Expression) map[string]any {
	found := map[string]any{}
	for _, e := range expressions {
		for _, r := range e.References() {
			if len(r.Path) < 4 || r.Path[0] != "workflow" || r.Path[1] != "outputs" {
				continue
			}
			kind, _ := found[r.Path[2]].(map[string]any)
			if kind == nil {
				kind = map[string]any{}
				found[r.Path[2]] = kind
			}
			if v, ok := p.globalTag(r.Path[2] + "." + r.Path[3]); ok {
				kind[r.Path[3]] = v
			}
		}
	}
	return found
}
