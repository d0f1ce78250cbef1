package workflow

import (
	"encoding/json"
	"time"

	"github.com/flowforge/flowforge/engine/dag"
)

// Tags belong to an operator whose texts have tags, {{…}}, as in Argo's files: they are
// replaced when the operator needs them. A definition of a [Format] has such operators;
// the native form has none.
type Tags struct {
	// When is a condition in Argo's language with tags; "" for none. It applies to the
	// operator, or, with WhenOfItem, to every item of its fan-out.
	When       string
	WhenOfItem bool
	// Target, when it is not "", lists the target operators of the graph, separated by
	// spaces; the operator runs only for those of For.
	Target string
	For    []string
	// Template is the name of the template that the operator runs.
	Template string
	// Settle computes the settings that depend on the operator's inputs; nil when none
	// do. render replaces the tags in all texts of a value.
	Settle func(render func(v any, strict bool) (any, error)) (Settings, error)
	// Timeout and Retries are the texts with tags from which Settle computes these
	// settings, for display; "" for none.
	Timeout, Retries string
	// ItemOf names the fan-out whose items the operator's own items follow: each runs
	// for the item with its index, and does not run when that did not.
	ItemOf string
	// Errs and ItemErrs say when the failure of the operator's graph, and of its
	// fan-out, is an error: a failure of the system rather than of a task.
	Errs, ItemErrs Errs
	// Allows are the failures of the operator that do not fail its graph.
	Allows dag.Failures
	// Open means that the task may produce outputs that Outputs does not declare: every
	// value and file that it writes is stored under its name. A dag_spec has such
	// tasks.
	Open bool
	// Names are tags with one value everywhere in the operator; they take precedence
	// over others.
	Names map[string]string
}

// Errs specifies which of the failures that reached the ends of a graph or fan-out make its
// own failure an error.
type Errs string

// The rules.
const (
	ErrsNever Errs = ""      // never
	ErrsFirst Errs = "first" // by the first one
	ErrsLast  Errs = "last"  // by the last one
	ErrsAll   Errs = "all"   // when all failures of the fan-out are errors
)

// Settings are the settings of an operator that Tags.Settle computes, instead of its
// own.
type Settings struct {
	Timeout time.Duration
	Retry   Retry
	Locks   []Lock
}

// Settles reports whether settings must be computed before the operator begins, or, for
// a fan-out, before one of its items begins.
func (t *Tags) Settles(fans, item bool) bool { return t != nil && t.Settle != nil && fans == item }

// KeepsAll reports whether undeclared outputs of o are stored.
func (o *Operator) KeepsAll() bool { return o.Tags != nil && o.Tags.Open }

// TemplateName is the name of the template that o runs; "" when it runs none.
func (o *Operator) TemplateName() string {
	if o.Tags == nil {
		return ""
	}
	return o.Tags.Template
}

// conditional reports whether a condition must be evaluated before the operator, or one
// item of it, begins.
func (t *Tags) conditional(fans, item bool) bool {
	if t == nil {
		return false
	}
	return t.When != "" && (!fans || t.WhenOfItem == item) || t.Target != "" && !item || t.ItemOf != "" && item
}

// Condition returns the condition for the operator, or, with item, for one of its
// items, to begin; "" for none.
func (t *Tags) Condition(fans, item bool) string {
	if t == nil || fans && t.WhenOfItem != item {
		return ""
	}
	return t.When
}

// TaggedAs is the kind of value that a Tagged becomes.
type TaggedAs string

// The kinds of value of a Tagged.
const (
	TaggedText     TaggedAs = "text"     // Value, a text, with its tags replaced
	TaggedList     TaggedAs = "list"     // Value, or its JSON text, must be a list
	TaggedSequence TaggedAs = "sequence" // Value is {count or start and end, format}: a list of numbers as texts
	TaggedName     TaggedAs = "name"     // Value is the name of a tag: its value, of any type
	TaggedFormula  TaggedAs = "formula"  // Value is an Argo expression: its value, of any type
	TaggedKey      TaggedAs = "key"      // Value is the key of an artifact (OperatorOutput.Key) of the same execution
	// TaggedConfigMap is a value of a ConfigMap in the project's namespace: Value is
	// {name, key}.
	TaggedConfigMap TaggedAs = "configmap"
)

// Tagged is a value with tags, by SourceTags.
type Tagged struct {
	Value any // decoded JSON
	As    TaggedAs
	// Default is the value when a tag in Value is unknown; nil: none.
	Default *string
	// Optional yields no value, without an error, when a tag in Value is unknown.
	Optional bool
	// Own means that its tags are in the operator's own texts: they read its inputs,
	// not those of the enclosing graph.
	Own bool
}

// ConfigMapKey names one value of a ConfigMap in the namespace of a project.
type ConfigMapKey struct {
	Name    string
	Key     string
	Default *string // when the ConfigMap or the key does not exist; nil: an error
	At      string  // its path in the document
}

// The value of an input that is a file outside the store is an object with one of these
// fields.
const (
	RawText = "$raw" // its text
	RawURL  = "$url" // the address from which the runner fetches it
	RawGit  = "$git" // a repository that the runner clones

	// RawBucket is an object of a bucket outside of the store. Its value has the texts store (s3,
	// oss, azure, gcs), bucket, key, endpoint, region and insecure, and the names of secrets with the
	// credentials: accessKeySecret, secretKeySecret, sessionTokenSecret, accountKeySecret and
	// serviceAccountKeySecret. With the store http, it is a file at an address: url, headers, scopes,
	// endpointParams, usernameSecret, passwordSecret, clientIDSecret, clientSecretSecret,
	// tokenURLSecret, clientCertSecret and clientKeySecret.
	RawBucket = "$bucket"
)

// RawArchive is the field alongside RawURL and RawBucket with the format of an archive.
const RawArchive = "archive"

// ArchiveFormat is how a file outside of the store is packed.
type ArchiveFormat string

// The formats.
const (
	ArchiveNone ArchiveFormat = "none"
	ArchiveTar  ArchiveFormat = "tar" // tar.gz; an input that is not packed stays as it is
	ArchiveZip  ArchiveFormat = "zip"
)

// Archive is how an output is packed in a bucket.
type Archive struct {
	Format ArchiveFormat
	Level  *int32 // of gzip; nil: its default
}

// SetDocument makes doc, canonical JSON, the stored form of d. Formats call it; their
// Parse returns d for doc.
func (d *Definition) SetDocument(doc json.RawMessage) { d.document = doc }

// Document is the canonical form of a definition that is not native; nil for a native one.
func (d *Definition) Document() json.RawMessage { return d.document }

// ValidName reports whether a workflow may have the name.
func ValidName(name string) bool { return workflowName.MatchString(name) }
