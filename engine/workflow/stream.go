package workflow

import (
	"fmt"
	"slices"
)

// writers are the operators of a graph with outputs that may be read while they are
// written, by name.
type writers map[string]*Operator

func (g *Graph) writers() writers {
	var all writers
	for i := range g.Operators {
		o := &g.Operators[i]
		if !slices.ContainsFunc(o.Outputs, func(out OperatorOutput) bool { return out.Storage == StorageStreaming }) {
			continue
		}
		if all == nil {
			all = writers{}
		}
		all[o.Name] = o
	}
	return all
}

// Streams reports whether the output that is the source of in, an input of o in g,
// requests streaming, and why it cannot stream; "" when the definition allows it.
func (g *Graph) Streams(o *Operator, in Input) (requested bool, why string) {
	all := g.writers()
	if requested, why = all.read(o, in); !requested || why != "" {
		return requested, why
	}
	spec := o.spec(all, "")
	for _, d := range spec.Dependencies {
		if d.Name == in.Source.Future.Operator && !d.Streams {
			return true, fmt.Sprintf("it also needs the final result of %s", d.Name)
		}
	}
	if spec.Rule != nil {
		return true, "its depends reads the final states of other operators"
	}
	return true, ""
}

// read is Graph.Streams without the other dependencies of o.
func (w writers) read(o *Operator, in Input) (requested bool, why string) {
	if len(w) == 0 || in.Source.Kind != SourceFuture {
		return false, ""
	}
	from := w[in.Source.Future.Operator]
	if from == nil {
		return false, ""
	}
	out, ok := from.Output(in.Source.Future.Output)
	if !ok || out.Storage != StorageStreaming {
		return false, ""
	}
	switch {
	case !from.streamed():
		why = from.Name + " is not a single attempt that writes a file"
	case out.Path != "" || out.Stdout || out.Source.Kind != "":
		why = out.Name + " is not in the outputs folder"
	case o.Final:
		why = "on_exit operators start when all others have ended"
	case !o.streamed():
		why = "it is not a single attempt that reads a file"
	case o.Pool != "" || from.Pool != "":
		why = "one of them runs in a pool of workers"
	case o.Cache != nil:
		why = "its cache needs all bytes of an input"
	case in.Type != nil && !in.Type.Streamable():
		why = "its input is of type " + in.Type.Name()
	case in.Path != "" || in.Mode != 0:
		why = "the file must have a fixed path"
	}
	return true, why
}

// streamed reports whether o runs as one attempt of a program.
func (o *Operator) streamed() bool {
	_, program := o.Process()
	return program && o.Foreach == nil && o.Resources.Pods <= 1 && o.Tags == nil
}
