package forms

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/platform/units"
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

// Choices are the suggestions for the type of the control.
func (c Control) Choices() []Choice { return c.form.cfg.Offers.Choices[c.Type.String()] }

// Preview returns the preview of the current reference.
func (c Control) Preview() (Preview, bool) {
	p, ok := c.form.cfg.Offers.Previews[PreviewKey(c.Type, c.Value())]
	return p, ok && c.Value() != ""
}

// TypeaheadURL completes references of the control's type; "" without completion.
func (c Control) TypeaheadURL() string {
	if c.form.cfg.Typeahead == "" {
		return ""
	}
	return c.form.cfg.Typeahead + "?" + url.Values{"type": {c.Type.String()}}.Encode()
}

// PreviewURL previews references of the control's type.
func (c Control) PreviewURL() string {
	if c.form.cfg.Typeahead == "" {
		return ""
	}
	return c.form.cfg.Typeahead + "/preview?" + url.Values{"type": {c.Type.String()}, "name": {c.Name}}.Encode()
}

// UploadURL accepts a file of the control's type in the background.
func (c Control) UploadURL() string {
	if c.form.cfg.Upload == "" {
		return ""
	}
	return c.form.cfg.Upload + "?" + url.Values{"type": {c.Type.String()}, "name": {c.Name}}.Encode()
}

// Uploaded is a file stored before the form was submitted.
type Uploaded struct {
	SHA       string `json:"$file"`
	Name      string `json:"name"`
	Size      int64  `json:"size"`
	MediaType string `json:"media_type"`
	JSON      string `json:"-"` // the reference that the form carries
}

// Upload returns the stored file of the control.
func (c Control) Upload() (Uploaded, bool) { return ReadUpload(c.sub("$file")) }

// ReadUpload reads a reference to a stored file.
func ReadUpload(text string) (Uploaded, bool) {
	var u Uploaded
	if text == "" || json.Unmarshal([]byte(text), &u) != nil || u.SHA == "" {
		return Uploaded{}, false
	}
	u.JSON = text
	if u.Name == "" {
		u.Name = u.SHA[:min(12, len(u.SHA))]
	}
	return u, true
}

// Facts are the size and the kind of the file.
func (u Uploaded) Facts() string {
	parts := []string{}
	if u.Size > 0 {
		parts = append(parts, units.Bytes(u.Size))
	}
	if u.MediaType != "" {
		parts = append(parts, u.MediaType)
	}
	return strings.Join(parts, " · ")
}

// Noun names the accepted value: "a CSV file", "a folder".
func (c Control) Noun() string {
	switch c.Type.Kind {
	case typeregistry.KindImage:
		return "an image"
	case typeregistry.KindDirectory:
		return "a folder"
	case typeregistry.KindReport:
		return "an HTML report"
	case typeregistry.KindModel:
		return "a model file"
	}
	if f := c.Type.Params.Format; f != "" {
		return "a " + strings.ToUpper(f) + " file"
	}
	return "a file"
}

// Folder reports whether the control accepts a whole folder.
func (c Control) Folder() bool { return c.Type.Kind == typeregistry.KindDirectory }

// features are the selected features of a set.
func (c Control) features() []string {
	var out []string
	for _, text := range c.form.cfg.Values[c.Name+".features"] {
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
func (c Control) Features() []PreviewColumn {
	var out []PreviewColumn
	if p, ok := c.Preview(); ok && len(p.Columns) > 0 {
		out = slices.Clone(p.Columns)
	} else {
		for _, f := range c.Type.Params.Features {
			out = append(out, PreviewColumn{Name: f.Name, Type: f.DType})
		}
	}
	picked := c.features()
	for i := range out {
		out[i].Chosen = slices.Contains(picked, out[i].Name)
	}
	return out
}

// OtherFeatures are selected features that are not in the list.
func (c Control) OtherFeatures() string {
	offered := c.Features()
	var out []string
	for _, name := range c.features() {
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
