package forms

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/typeregistry"
)

// Preview describes the catalogue entry that a control refers to.
type Preview struct {
	Ref     string
	URL     string   // of its page, "" when it has none
	Facts   []string // "60,000 rows", "3 columns", "47 MiB"
	Missing bool     // the entry does not exist
	Columns []PreviewColumn
	Fits    string // "schema ok", "1 column is missing"; "" without declared columns
	Bad     bool   // Fits reports a mismatch
}

// PreviewColumn is a column of a dataset, or a feature of a set.
type PreviewColumn struct {
	Name, Type, Sample string
	Need               string // "matches", "missing", "not used", "is String, needs Integer"
	State              string // SUCCEEDED, FAILED or "" for neither
	Chosen             bool   // a selected feature
}

// referenceControl is a reference to an entry of the catalogue or to an artifact.
type referenceControl struct{ c Control }

// Choices are the suggestions for the type of the control.
func (r referenceControl) Choices() []Choice { return r.c.form.cfg.Offers.Choices[r.c.Type.String()] }

// Preview returns the preview of the current reference.
func (r referenceControl) Preview() (Preview, bool) {
	p, ok := r.c.form.cfg.Offers.Previews[PreviewKey(r.c.Type, r.c.Value())]
	return p, ok && r.c.Value() != ""
}

// TypeaheadURL completes references of the control's type; "" without completion.
func (r referenceControl) TypeaheadURL() string {
	if r.c.form.cfg.Typeahead == "" {
		return ""
	}
	return r.c.form.cfg.Typeahead + "?" + url.Values{"type": {r.c.Type.String()}}.Encode()
}

// PreviewURL previews references of the control's type.
func (r referenceControl) PreviewURL() string {
	if r.c.form.cfg.Typeahead == "" {
		return ""
	}
	return r.c.form.cfg.Typeahead + "/preview?" + url.Values{"type": {r.c.Type.String()}, "name": {r.c.Name}}.Encode()
}

// featureControl selects features of a set.
type featureControl struct{ c Control }

// features are the selected features of a set.
func (f featureControl) features() []string {
	var out []string
	for _, text := range f.c.form.cfg.Values[f.c.Name+".features"] {
		for name := range strings.SplitSeq(text, ",") {
			if name = strings.TrimSpace(name); name != "" && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// Features lists the features of the selected set, or those that the type declares, and
// marks the selected ones.
func (f featureControl) Features() []PreviewColumn {
	var out []PreviewColumn
	if p, ok := referenceControl(f).Preview(); ok && len(p.Columns) > 0 {
		out = slices.Clone(p.Columns)
	} else {
		for _, f := range f.c.Type.Params.Features {
			out = append(out, PreviewColumn{Name: f.Name, Type: f.DType})
		}
	}
	picked := f.features()
	for i := range out {
		out[i].Chosen = slices.Contains(picked, out[i].Name)
	}
	return out
}

// OtherFeatures are selected features that are not in the list.
func (f featureControl) OtherFeatures() string {
	offered := f.Features()
	var out []string
	for _, name := range f.features() {
		if !slices.ContainsFunc(offered, func(f PreviewColumn) bool { return f.Name == name }) {
			out = append(out, name)
		}
	}
	return strings.Join(out, ", ")
}

func needIcon(state string) string {
	if state == "SUCCEEDED" {
		return "check"
	}
	return "warn"
}

// part is a piece of a text; hit marks a match of the search.
type part struct {
	text string
	hit  bool
}

// split finds query in text, ignoring case.
func split(text, query string) []part {
	at := strings.Index(strings.ToLower(text), strings.ToLower(query))
	if query == "" || at < 0 || len(strings.ToLower(text)) != len(text) || at+len(query) > len(text) {
		return []part{{text: text}}
	}
	return []part{{text: text[:at]}, {text: text[at : at+len(query)], hit: true}, {text: text[at+len(query):]}}
}

// inputNamed is input for a control whose name is not that of the value.
func (r referenceControl) inputNamed(name string) templ.Attributes {
	a := r.c.input()
	a["name"] = name
	if r.c.Type.Kind == typeregistry.KindFeatureSet {
		a["aria-label"] = r.c.Label + ", name of the set"
	}
	return a
}

// featureID is the id of the checkbox of the i-th feature.
func (f featureControl) featureID(i int) string { return fmt.Sprintf("%s-feature-%d", f.c.ID(), i) }
