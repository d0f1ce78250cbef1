package search

import (
	"slices"
	"strings"
)

// Type is the type of a field in comparisons.
type Type string

// The types. Span is compared as seconds.
const (
	Number Type = "number"
	String Type = "text"
	Time   Type = "time"
	Span   Type = "duration"
)

// Part is where a field comes from.
type Part string

// The parts of an execution. Facts are the fields that every execution has.
const (
	Facts   Part = "execution"
	Inputs  Part = "inputs"
	Outputs Part = "outputs"
	Metrics Part = "metrics"
	// Metadata is what tasks said about artifacts: "model.accuracy" for the output model.
	Metadata Part = "metadata"
)

// Stat selects one value of the points of a metric.
type Stat string

// The values of a metric. Best is the least of metrics that improve as they decrease.
const (
	Last    Stat = "last"
	Least   Stat = "min"
	Most    Stat = "max"
	BestOne Stat = "best"
)

// Field is a name that a query can use.
type Field struct {
	Part Part
	Name string // within its part: "optimizer.lr"
	Stat Stat   // of a metric
	// Types are the types of its values, at most Number and String for the inputs of different
	// workflows.
	Types []Type
	// Words are the values that a fact can have; nil for any.
	Words []string
	Help  string
}

// Path is the full name of a field, such as "inputs.optimizer.lr" or "metrics.loss.min".
func (f Field) Path() string {
	switch {
	case f.Part == Facts:
		return f.Name
	case f.Part == Metrics && f.Stat != "" && f.Stat != Last:
		return string(f.Part) + "." + f.Name + "." + string(f.Stat)
	}
	return string(f.Part) + "." + f.Name
}

// Quoted is the full name as a query writes it: with quotes if it has spaces or operators.
func (f Field) Quoted() string {
	return quotedName(f.Path())
}

func quotedName(name string) string {
	tokens, failed := lex(name)
	if failed == nil && len(tokens) == 2 && tokens[0].kind == tokenWord && !slices.ContainsFunc([]string{"and", "or", "not"}, tokens[0].is) {
		return name
	}
	return quote(name)
}

// byEnds reports whether a fact is compared by its beginning or end.
func (f Field) byEnds() bool {
	return f.Part == Facts && slices.Contains([]string{"id", "sha", "sweep"}, f.Name)
}

// Is reports whether values of f can have type t.
func (f Field) Is(t Type) bool { return slices.Contains(f.Types, t) }

// Resolved returns the value of a metric that Best means.
func (f Field) Resolved() Stat {
	if f.Stat != BestOne {
		return f.Stat
	}
	if LowerIsBetter(f.Name) {
		return Least
	}
	return Most
}

// LowerIsBetter guesses from its name whether a metric improves as it decreases.
func LowerIsBetter(metric string) bool {
	metric = strings.ToLower(metric)
	for _, part := range []string{"loss", "error", "err", "mse", "mae", "rmse", "perplexity", "latency", "seconds", "duration", "divergence"} {
		if strings.Contains(metric, part) {
			return true
		}
	}
	return false
}

// States are the words of the field state; live means that the execution has not ended.
func States() []string {
	return []string{"pending", "running", "approval", "paused", "succeeded", "failed", "cancelled", "live"}
}

// Purposes are the words of the field purpose.
func Purposes() []string { return []string{"work", "options"} }

// FactFields returns the fields that every execution has.
func FactFields() []Field {
	text, number := []Type{String}, []Type{Number}
	fact := func(name string, types []Type, help string) Field {
		return Field{Part: Facts, Name: name, Types: types, Help: help}
	}
	state := fact("state", text, "State of the execution")
	state.Words = States()
	purpose := fact("purpose", text, "Why it was launched: work, or to list the options of an input")
	purpose.Words = Purposes()
	return []Field{
		state,
		fact("workflow", text, "Name of the workflow"),
		fact("version", text, "Version of the workflow"),
		fact("name", text, "Name of the execution"),
		fact("user", text, "Who launched it, by name, e-mail address or ID; me is you"),
		fact("tag", text, "A tag of the execution"),
		fact("note", text, "Its note"),
		fact("error", text, "Why it failed"),
		fact("log", text, "Text in the lines of its logs; of the last 30 days unless the query has since:"),
		fact("id", text, "The beginning or the end of its ID"),
		fact("sweep", text, "The sweep that launched it, by the beginning or the end of its ID"),
		purpose,
		fact("sha", text, "Beginning of the SHA-256 of its code or of one of its artifacts"),
		fact("since", []Type{Time}, "Launched at or after, or within a duration such as 7d"),
		fact("until", []Type{Time}, "Launched before"),
		fact("created", []Type{Time}, "When it was launched"),
		fact("started", []Type{Time}, "When its first node started"),
		fact("finished", []Type{Time}, "When it ended"),
		fact("duration", []Type{Span}, "Time from start to end"),
		fact("gpu_hours", number, "GPU-hours of its attempts"),
		fact("priority", number, "Priority, 0 to 100"),
	}
}

// Names are the fields of a project.
type Names struct {
	fields []Field
	byPath map[string]int
	byTail map[string][]int // by every end of the name: "optimizer.lr" and "lr"
	what   string           // the noun for what has the fields
	open   bool             // any name after "metadata." is a field
}

// NewFacts returns facts alone, and any field after "metadata.": the fields of artifacts and of
// entries of the catalogue.
func NewFacts(facts []Field) *Names {
	n := &Names{fields: facts, byPath: map[string]int{}, open: true}
	for i, f := range facts {
		n.byPath[f.Path()] = i
	}
	return n
}

// NewNames returns the facts and the fields of a project: inputs, outputs and metrics, metrics
// without a Stat.
func NewNames(fields []Field) *Names {
	n := &Names{fields: append(FactFields(), fields...), byPath: map[string]int{}, byTail: map[string][]int{}, what: "execution"}
	for i, f := range n.fields {
		n.byPath[f.Path()] = i
		if f.Part == Facts {
			continue
		}
		prefix := ""
		if f.Part == Metadata { // a name without "metadata." means something else
			prefix = string(Metadata) + "."
		}
		for end := f.Name; ; {
			tail := prefix + end
			n.byTail[tail] = append(n.byTail[tail], i)
			_, rest, found := strings.Cut(strings.TrimPrefix(tail, prefix), ".")
			if !found {
				break
			}
			end = rest
		}
	}
	return n
}

// Fields returns all fields.
func (n *Names) Fields() []Field { return n.fields }

// Find returns the field that name means. A full path and a fact come first; then a whole name
// among inputs, metrics and outputs, in this order, unless several inputs end with it; then the only
// field that ends with name. Metadata needs its part: "metadata.accuracy", or
// "artifact.metadata.accuracy". The second result lists the paths when name could mean several.
func (n *Names) Find(name string) (Field, []string) {
	if f, choices := n.find(name); f.Name != "" || choices != nil {
		return f, choices
	}
	for _, stat := range []Stat{Last, Least, Most, BestOne} {
		base, found := strings.CutSuffix(name, "."+string(stat))
		if !found {
			continue
		}
		f, choices := n.find(base)
		if f.Part == Metrics {
			f.Stat = stat
			return f, nil
		}
		return Field{}, choices
	}
	return Field{}, nil
}

func (n *Names) find(name string) (Field, []string) {
	if i, ok := n.byPath[name]; ok {
		return n.fields[i], nil
	}
	if n.open && strings.HasPrefix(name, string(Metadata)+".") {
		return Field{Part: Metadata, Name: strings.TrimPrefix(name, string(Metadata)+"."), Types: []Type{Number, String}}, nil
	}
	for _, part := range []Part{Inputs, Metrics, Outputs} {
		i, ok := n.byPath[string(part)+"."+name]
		if !ok {
			continue
		}
		if others := n.inputsThatEndWith(name); part == Inputs && len(others) > 1 {
			return Field{}, others
		}
		return n.fields[i], nil
	}
	ends := n.byTail[name]
	if len(ends) == 1 {
		return n.fields[ends[0]], nil
	}
	var choices []string
	for _, i := range ends {
		choices = append(choices, n.fields[i].Path())
	}
	if rest, ok := strings.CutPrefix(name, "artifact."); ok && len(ends) == 0 && strings.HasPrefix(rest, string(Metadata)+".") {
		return n.find(rest)
	}
	return Field{}, choices
}

// inputsThatEndWith returns the paths of inputs whose name is name or ends with it. Workflows of a
// project may have "lr" and "optimizer.lr", which often mean the same.
func (n *Names) inputsThatEndWith(name string) []string {
	var paths []string
	for _, i := range n.byTail[name] {
		if n.fields[i].Part == Inputs {
			paths = append(paths, n.fields[i].Path())
		}
	}
	return paths
}

// Short is the shortest name of a field without its path's beginning, such as "lr"; its full name
// if the short one means another field.
func (n *Names) Short(f Field) string {
	if f.Part == Facts {
		return f.Name
	}
	short := strings.TrimPrefix(f.Path(), string(f.Part)+".")
	if found, _ := n.Find(short); found.Path() == f.Path() {
		return short
	}
	return f.Path()
}

// spellings are what a misspelled name can have meant.
func (n *Names) spellings() []string {
	var list []string
	for _, f := range n.fields {
		list = append(list, f.Path())
		if f.Part != Facts {
			list = append(list, f.Name)
		}
	}
	return list
}

// Fact returns a comparison of a fact.
func Fact(name string, op Op, values ...Value) Compare {
	return Compare{Field: Field{Part: Facts, Name: name}, Op: op, Values: values}
}
