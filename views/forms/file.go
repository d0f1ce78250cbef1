package forms

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
)

// fileControl uploads a file or a folder.
type fileControl struct{ c Control }

// UploadURL accepts a file of the control's type in the background.
func (f fileControl) UploadURL() string {
	if f.c.form.cfg.Upload == "" {
		return ""
	}
	return f.c.form.cfg.Upload + "?" + url.Values{"type": {f.c.Type.String()}, "name": {f.c.Name}}.Encode()
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
func (f fileControl) Upload() (Uploaded, bool) { return ReadUpload(f.c.sub("$file")) }

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
func (f fileControl) Noun() string {
	switch f.c.Type.Kind {
	case typeregistry.KindImage:
		return "an image"
	case typeregistry.KindDirectory:
		return "a folder"
	case typeregistry.KindReport:
		return "an HTML report"
	case typeregistry.KindModel:
		return "a model file"
	}
	if f := f.c.Type.Params.Format; f != "" {
		return "a " + strings.ToUpper(f) + " file"
	}
	return "a file"
}

// Folder reports whether the control accepts a whole folder.
func (f fileControl) Folder() bool { return f.c.Type.Kind == typeregistry.KindDirectory }

// FileHint describes the accepted files.
func (f fileControl) FileHint() string {
	p := f.c.Type.Params
	var parts []string
	if p.MaxBytes != nil {
		parts = append(parts, "Up to "+units.Bytes(*p.MaxBytes)+".")
	}
	if p.Format != "" {
		parts = append(parts, "Format "+p.Format+".")
	}
	if len(p.MediaTypes) > 0 {
		parts = append(parts, strings.Join(p.MediaTypes, ", ")+".")
	}
	return strings.Join(parts, " ")
}

// Accept is the list of file types for the browser's file dialog.
func (f fileControl) Accept() string {
	p := f.c.Type.Params
	accept := append([]string(nil), p.MediaTypes...)
	if p.Format != "" {
		accept = append(accept, "."+p.Format)
	}
	if len(accept) == 0 && f.c.Type.Kind == typeregistry.KindImage {
		accept = append(accept, "image/*")
	}
	if len(accept) == 0 && f.c.Type.Kind == typeregistry.KindReport {
		accept = append(accept, ".html", "text/html")
	}
	return strings.Join(accept, ",")
}

// uploadID is the id of the file control: the plain id if the widget has only a file
// control.
func (f fileControl) uploadID() string {
	if f.reference() {
		return f.c.ID() + "-upload"
	}
	return f.c.ID()
}

// reference reports whether the main control is a reference, with an upload alongside it.
func (f fileControl) reference() bool {
	return f.c.Type.Kind == typeregistry.KindDataset || f.c.Type.Kind == typeregistry.KindModel
}

// fileAttrs labels a file control, because only the main control has a label element.
func (f fileControl) fileAttrs() templ.Attributes {
	a := f.c.attrs()
	if f.reference() {
		a["aria-label"] = f.c.Label + ", upload"
		delete(a, "autofocus")
	}
	return a
}
