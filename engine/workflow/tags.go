package workflow

import (
	"encoding/json"
	"time"

	"github.com/flowforge/flowforge/engine/dag"
)

// Tags are what an operator has whose texts hold tags, {{…}}, as those of Argo's
// files do: they are replaced when the operator needs them. A definition of a
// [Format] has such operators; the native form has none.
type Tags struct {
	// When is a condition in Argo's language with tags; "" for none. It is of the
	// operator, or with WhenOfItem of every item of its fan-out.
	When       string
	WhenOfItem bool
	// Target, when it is not "", names with spaces between them the operators for
	// whose sake the graph runs; the operator runs for those of For alone.
	Target string
	For    []string
	// Template is the name of the template that the operator runs.
	Template string
	// Settle works out the settings that hang on the operator's inputs; nil when none does. render
	// replaces the tags in all texts of a value.
	Settle func(render func(any) (any, error)) (Settings, error)
	// Timeout and Retries are the texts with tags of which Settle makes these settings, for
	// people; "" for none.
	Timeout, Retries string
	// ItemOf names the fan-out beside whose items the operator's own are: each runs for the
	// one with its index, and does not run when that did not.
	ItemOf string
	// Errs and ItemErrs say when the failure of the graph that the operator becomes, and of
	// its fan-out, is an error: one around a task rather than of it.
	Errs, ItemErrs Errs
	// Allows are the failures of the operator that do not fail what it is part of.
	Allows dag.Failures
	// Open says that the task may give outputs that Outputs does not declare: every value and
	// file that it writes is kept under its name. A dag_spec has such tasks.
	Open bool
	// Names are tags that stand for the same text everywhere in the operator, and win over others.
	Names map[string]string
}

// Errs says by which of the failures that came out at the ends of a graph or fan-out its
// own failure is an error.
type Errs string

// The ways to tell.
const (
	ErrsNever Errs = ""      // it is none
	ErrsFirst Errs = "first" // by the first one
	ErrsLast  Errs = "last"  // by the last one
	ErrsAll   Errs = "all"   // when all failures of the fan-out are errors
)

// Settings are what of an operator Tags.Settle works out, in place of its own.
type Settings struct {
	Timeout time.Duration
	Retry   Retry
	Locks   []Lock
}

// Settles reports whether settings are to be worked out before the operator begins, or of
// one that fans out before an item of it.
func (t *Tags) Settles(fans, item bool) bool { return t != nil && t.Settle != nil && fans == item }

// KeepsAll reports whether outputs that o does not declare are kept.
func (o *Operator) KeepsAll() bool { return o.Tags != nil && o.Tags.Open }

// TemplateName is the name of the template that o runs; "" when it runs none.
func (o *Operator) TemplateName() string {
	if o.Tags == nil {
		return ""
	}
	return o.Tags.Template
}

// conditional reports whether something has to be worked out before the operator, or
// one item of it, begins.
func (t *Tags) conditional(fans, item bool) bool {
	if t == nil {
		return false
	}
	return t.When != "" && (!fans || t.WhenOfItem == item) || t.Target != "" && !item || t.ItemOf != "" && item
}

// Condition returns what has to hold before the operator, or with item an item of it,
// begins; "" for nothing.
func (t *Tags) Condition(fans, item bool) string {
	if t == nil || fans && t.WhenOfItem != item {
		return ""
	}
	return t.When
}

// TaggedAs says what the texts of a Tagged become.
type TaggedAs string

// What a Tagged may become.
const (
	TaggedText     TaggedAs = "text"     // Value, a text, with its tags replaced
	TaggedList     TaggedAs = "list"     // Value, or the JSON that it is a text of, has to be a list
	TaggedSequence TaggedAs = "sequence" // Value is {count or start and end, format}: a list of numbers as texts
	TaggedName     TaggedAs = "name"     // Value is the name of a tag: what it stands for, whatever its type is
	TaggedFormula  TaggedAs = "formula"  // Value is an expression of Argo's: what it gives, whatever its type is
	TaggedKey      TaggedAs = "key"      // Value is the key of an artifact (OperatorOutput.Key) of the same execution
	// TaggedConfigMap is what a ConfigMap of the project's namespace has: Value is {name, key}.
	TaggedConfigMap TaggedAs = "configmap"
)

// Tagged is a value with tags, by SourceTags.
type Tagged struct {
	Value any // decoded JSON
	As    TaggedAs
	// Default is the value when something in Value is not known; nil: there is none.
	Default *string
	// Optional gives nothing, and is no fault, when something in Value is not known.
	Optional bool
	// Own says that its tags stand in the operator's own texts: they read its inputs,
	// and not those of the graph around it.
	Own bool
}

// ConfigMapKey names one value of a ConfigMap in the namespace of a project.
type ConfigMapKey struct {
	Name    string
	Key     string
	Default *string // when the ConfigMap or the key is not there; nil: that is a fault
	At      string  // where it stands in the document
}

// A file that is none of the store's, as the value of an input: an object with one of
// these fields.
const (
	RawText = "$raw" // its text
	RawURL  = "$url" // where the runner fetches it
	RawGit  = "$git" // a repository that the runner clones
)

// SetDocument makes doc, canonical JSON, the form in which d is kept. It is for
// formats, whose Parse gives d for doc again.
func (d *Definition) SetDocument(doc json.RawMessage) { d.document = doc }

// Document is the canonical form of a definition that is not native; nil for a native one.
func (d *Definition) Document() json.RawMessage { return d.document }

// ValidName reports whether a workflow may have the name.
func ValidName(name string) bool { return workflowName.MatchString(name) }
