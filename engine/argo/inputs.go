package argo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/engine/expression"
	"github.com/flowforge/flowforge/engine/workflow"
)

// orderOwn sorts the inputs of a template so that each own value comes after the inputs
// that it reads. Inputs that read each other in a circle are a problem.
func (vs *values) orderOwn(list []workflow.Input, s *source) []workflow.Input {
	reads := make(map[string][]string, len(list))
	for _, in := range list {
		if in.Source.Tagged.Own {
			reads[in.Name] = inputsRead(in.Source.Tagged.Value)
		}
	}
	if len(reads) == 0 {
		return list
	}
	ordered := make([]workflow.Input, 0, len(list))
	const visiting, done = 1, 2
	state := map[string]int{}
	var visit func(in workflow.Input)
	visit = func(in workflow.Input) {
		switch state[in.Name] {
		case visiting:
			at := slices.IndexFunc(s.Inputs.Parameters, func(p parameter) bool { return p.Name == in.Name })
			vs.add(fmt.Sprintf("%s.inputs.parameters[%d]", s.path, at), "The input %q reads itself, directly or through other inputs.", in.Name)
			return
		case done:
			return
		}
		state[in.Name] = visiting
		for _, name := range reads[in.Name] {
			if i := slices.IndexFunc(list, func(other workflow.Input) bool { return other.Name == name }); i >= 0 {
				visit(list[i])
			}
		}
		state[in.Name] = done
		ordered = append(ordered, in)
	}
	for _, in := range list {
		visit(in)
	}
	return ordered
}

// inputsRead returns the input parameters that the texts of a value read.
func inputsRead(value any) []string {
	var names []string
	switch v := value.(type) {
	case map[string]any:
		for _, e := range v {
			names = append(names, inputsRead(e)...)
		}
	case string:
		parsed, err := expression.ParseTemplate(v)
		if err != nil {
			return nil // checkText reports it
		}
		for _, tag := range parsed.Tags() {
			if name, ok := strings.CutPrefix(tag.Name, "inputs.parameters."); ok {
				names = append(names, name)
			}
			if tag.Expression == nil {
				continue
			}
			for _, r := range tag.Expression.References() {
				if len(r.Path) > 2 && r.Path[0] == "inputs" && r.Path[1] == "parameters" {
					names = append(names, r.Path[2])
				}
			}
		}
	}
	return names
}
