package sweep

import (
	"fmt"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// checkOutput checks that the version has the output, and that it can be a number.
func (p *plan) checkOutput(name string) []apperr.Field {
	message := outputProblem(p.version.Name, p.version.Definition.Outputs, name)
	if message == "" {
		return nil
	}
	return []apperr.Field{{Path: "objective.output", Message: message}}
}

// outputProblem is why an output cannot be an objective, "" if it can. A path such as report.score
// is the field of an output.
func outputProblem(of string, outputs []workflow.Output, name string) string {
	first, _, isField := strings.Cut(name, ".")
	var names []string
	for _, out := range outputs {
		switch {
		case out.Name != first:
			names = append(names, out.Name)
		case isField || out.Type == nil || !neverNumber(plain(out.Type)):
			return ""
		default:
			return fmt.Sprintf("The output %q has the type %s, and an objective must be a number. Choose another output, or a field of it such as %s.score.", first, plain(out.Type).Kind, first)
		}
	}
	message := fmt.Sprintf("%s has no output %q.", of, first)
	if len(names) > 0 {
		message += " It has " + strings.Join(names, ", ") + "."
	}
	return message
}

// neverNumber reports whether the values of a type are no numbers. An Enum or a JSON value can be one.
func neverNumber(t *typeregistry.Type) bool {
	switch t.Kind {
	case typeregistry.KindString, typeregistry.KindText, typeregistry.KindBoolean, typeregistry.KindList, typeregistry.KindMap,
		typeregistry.KindStruct, typeregistry.KindHyperparam, typeregistry.KindDataset, typeregistry.KindFeatureSet, typeregistry.KindModel,
		typeregistry.KindFile, typeregistry.KindDirectory, typeregistry.KindImage, typeregistry.KindTable, typeregistry.KindReport:
		return true
	default:
		return false
	}
}

func plain(t *typeregistry.Type) *typeregistry.Type {
	if t.Kind == typeregistry.KindOptional && t.Elem != nil {
		return t.Elem
	}
	return t
}
