package typeregistry

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Renderer is the ui_renderer of a custom type: a name that other programs interpret, or a page that
// shows values in a sandboxed frame.
type Renderer struct {
	Name   string
	HTML   string // the page, only in a definition that is being registered
	File   string // "sha256:<hex>" of the stored page
	Inputs bool   // launch forms use the page to enter values
}

// RendererPage is the page that shows the values of a type.
type RendererPage struct {
	Type   string `json:"type"` // the custom type that was registered with it
	File   string `json:"file"`
	Inputs bool   `json:"inputs"`
}

var rendererFile = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// Renderer reads the ui_renderer: a string, or an object with html or file, and inputs.
func (d CustomType) Renderer() (Renderer, error) {
	switch raw := Plain(d.UIRenderer).(type) {
	case nil:
		return Renderer{}, nil
	case string:
		return Renderer{Name: raw}, nil
	case map[string]any:
		return readRenderer(raw)
	}
	return Renderer{}, errors.New("ui_renderer is a name, or an object such as {html: \"<!doctype html>…\", inputs: true}")
}

func readRenderer(raw map[string]any) (Renderer, error) {
	var r Renderer
	var ok bool
	for _, key := range sortedKeys(raw) {
		switch key {
		case "html":
			r.HTML, ok = raw[key].(string)
		case "file":
			r.File, ok = raw[key].(string)
		case "inputs":
			r.Inputs, ok = raw[key].(bool)
		default:
			return r, fmt.Errorf("%s is not a known key of ui_renderer; use html, file or inputs", quote(key))
		}
		if !ok {
			return r, fmt.Errorf("%s of ui_renderer is not valid: html and file are strings, inputs is true or false", key)
		}
	}
	switch {
	case (r.HTML == "") == (r.File == ""):
		return r, errors.New("ui_renderer must have html, the text of a page, or file, the hash of a stored page")
	case r.File != "" && !rendererFile.MatchString(r.File):
		return r, fmt.Errorf("%s is not the hash of a page; flowforge apply reads files, and the API accepts html", quote(r.File))
	case strings.Contains(r.HTML, "\x00"):
		return r, errors.New("html contains NUL")
	}
	return r, nil
}

// takesText reports whether a form has one control with the text of a value of t, which a page can
// set.
func (t *Type) takesText() bool {
	return slices.Contains([]Kind{KindString, KindText, KindInteger, KindFloat, KindEnum, KindDate, KindDuration, KindJSON}, t.Kind)
}

// render sets the renderer of a custom type.
func (t *Type) render(def CustomType) error {
	r, err := def.Renderer()
	if err != nil {
		return err
	}
	if r.Name != "" {
		t.Renderer = r.Name
	}
	if r.HTML == "" && r.File == "" {
		return nil
	}
	if r.Inputs && !t.takesText() {
		return fmt.Errorf("inputs: a page can provide String, Text, Integer, Float, Enum, Date, Duration and JSON values, but not %s", t.Kind)
	}
	t.Page = &RendererPage{Type: def.Name, File: r.File, Inputs: r.Inputs}
	return nil
}
