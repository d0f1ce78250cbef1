package typeregistry

import (
	"encoding/json"
	"regexp"
	"slices"
)

// Kind names a built-in type.
type Kind string

// The built-in kinds.
const (
	KindString     Kind = "String"
	KindInteger    Kind = "Integer"
	KindFloat      Kind = "Float"
	KindBoolean    Kind = "Boolean"
	KindEnum       Kind = "Enum"
	KindDate       Kind = "Date"
	KindDateTime   Kind = "DateTime"
	KindDuration   Kind = "Duration"
	KindDateRange  Kind = "DateRange"
	KindJSON       Kind = "JSON"
	KindList       Kind = "List"
	KindMap        Kind = "Map"
	KindOptional   Kind = "Optional"
	KindUnion      Kind = "Union"
	KindStruct     Kind = "Struct"
	KindDataset    Kind = "Dataset"
	KindFeatureSet Kind = "FeatureSet"
	KindModel      Kind = "Model"
	KindHyperparam Kind = "HyperparameterSet"
	KindMetrics    Kind = "Metrics"
	KindFile       Kind = "File"
	KindDirectory  Kind = "Directory"
	KindImage      Kind = "Image"
	KindTable      Kind = "Table"
	KindText       Kind = "Text"
	KindReport     Kind = "Report"
	KindSecret     Kind = "Secret"
	KindConnection Kind = "Connection"
)

// Type is one type with its parameters. A Registry creates it; it is immutable, and
// Parse(t.String()) returns an equal type.
type Type struct {
	Kind     Kind
	Custom   string // the custom type it was reached through, "" for a built-in
	Params   Params
	Elem     *Type       // of List and Optional; the values of a Map
	Variants []Variant   // of Union
	Fields   []Field     // of Struct; the parameters of a HyperparameterSet
	Rules    []Validator // of the custom types it extends, the base's first
	Renderer string      // the name in the ui_renderer of the nearest custom type, or ""

	// Page is the page in the ui_renderer of the nearest custom type, or nil.
	Page *RendererPage

	bases      []string // custom types it extends, nearest first, itself included
	impl       behaviour
	pattern    *regexp.Regexp
	keyPattern *regexp.Regexp
}

// Variant is one alternative of a Union; Tag is unique in it.
type Variant struct {
	Tag  string
	Type *Type
}

// Params holds the parameters of every kind; each kind reads its own.
// Numbers stay decimal text so that 0.1 is exactly 0.1; "" means no bound.
type Params struct {
	MinLength, MaxLength *int // characters
	Pattern              string
	Format               string // of String: email, uri, …; of Dataset, Table and File: csv, parquet, …
	Multiline            bool
	Min, Max, Step       json.Number
	ExclusiveMin         json.Number // values are more than this number
	ExclusiveMax         json.Number // values are less than this number
	LogScale             bool
	Unit                 string
	Options              []Option
	Earliest, Latest     string // bounds of Date, DateTime and DateRange; of Duration as ISO 8601
	Columns              []Column
	Partitioning         []string
	EstimatedRows        *int64
	Features             []Column
	EntityKey            string
	TimestampKey         string
	Framework            string
	Architecture         string
	Inputs, Outputs      []Column // tensor specifications of a Model
	Exportable           []string
	MediaTypes           []string
	MaxBytes             *int64
	MinItems, MaxItems   *int
	Unique               bool
	KeyPattern           string
	Connection           string // the kind of a Connection
	Extra                bool   // a Struct keeps fields that it does not declare
}

// Option is one choice of an Enum: a string, json.Number or bool.
type Option struct {
	Value any    `json:"value"`
	Label string `json:"label,omitempty"`
}

// Column describes a column of a Dataset, a feature of a FeatureSet or a tensor
// of a Model. A dimension of -1 is not fixed. Attributes carries the rest:
// description, default_value, statistics, nullable.
type Column struct {
	Name       string         `json:"name"`
	DType      string         `json:"dtype"`
	Dimensions []int          `json:"dimensions,omitempty"`
	Attributes map[string]any `json:"attributes,omitempty"`
}

// Field is a named place for a value: an input, an output, a member of a Struct.
type Field struct {
	Name        string
	Type        *Type
	Description string
	Default     json.RawMessage // canonical value; nil when there is none. "today" is allowed for Date
	Required    bool
	Hints       Hints
	Validators  []Validator
	Rules       *Rules  // on the values of other fields; nil when there are none
	Source      *Source // of its options; nil when its type or a rule has them
}

// Hints control how a form shows a field; they override the type.
type Hints struct {
	Label       string `json:"label,omitempty"`
	Help        string `json:"help,omitempty"`
	Placeholder string `json:"placeholder,omitempty"`
	Section     string `json:"section,omitempty"`
	Widget      string `json:"widget,omitempty"`
	Order       int    `json:"order,omitempty"`
	Hidden      bool   `json:"hidden,omitempty"`
	Advanced    bool   `json:"advanced,omitempty"`
}

// Name is the custom name when there is one, else the kind.
func (t *Type) Name() string {
	if t.Custom != "" {
		return t.Custom
	}
	return string(t.Kind)
}

// Streamable reports whether a value of t, or of its Optional element, is a file that can
// be read before it is complete.
func (t *Type) Streamable() bool {
	switch t.Kind {
	case KindFile, KindDataset, KindFeatureSet, KindTable:
		return true
	case KindOptional:
		return t.Elem.Streamable()
	case KindString, KindInteger, KindFloat, KindBoolean, KindEnum, KindDate, KindDateTime, KindDuration, KindDateRange, KindJSON, KindList, KindMap,
		KindUnion, KindStruct, KindModel, KindHyperparam, KindMetrics, KindDirectory, KindImage, KindText, KindReport, KindSecret, KindConnection:
	}
	return false
}

// IsBlob reports whether values refer to stored files (an artifact, a catalogue entry or an
// uploaded file).
func (t *Type) IsBlob() bool { return t.impl.blob() }

// IsComposite reports whether a value has several form controls.
func (t *Type) IsComposite() bool { return t.impl.composite(t) }

// Extends reports whether t is the custom type name or was derived from it.
func (t *Type) Extends(name string) bool { return slices.Contains(t.bases, name) }

// MarshalJSON writes the canonical expression.
func (t *Type) MarshalJSON() ([]byte, error) { return encodeJSON(t.String()) }

// FieldNamed returns the field of a Struct or HyperparameterSet.
func (t *Type) FieldNamed(name string) (Field, bool) { return fieldNamed(t.Fields, name) }

func fieldNamed(fields []Field, name string) (Field, bool) {
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return Field{}, false
	}
	return fields[i], true
}
