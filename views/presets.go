package views

import (
	"net/url"
	"strings"

	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
)

// PresetsURL lists the presets of a workflow.
func PresetsURL(workflow string) string { return WorkflowURL(workflow) + "/presets" }

// PresetURL is the page of a preset; a POST changes it.
func PresetURL(workflow, id string) string { return PresetsURL(workflow) + "/" + url.PathEscape(id) }

// PresetDefaultURL makes a preset a default by POST.
func PresetDefaultURL(workflow, id string) string { return PresetURL(workflow, id) + "/default" }

// PresetDeleteURL deletes a preset by POST.
func PresetDeleteURL(workflow, id string) string { return PresetURL(workflow, id) + "/delete" }

// LaunchPresetURL is the launch form with the values of a preset; "" is the form without any.
func LaunchPresetURL(workflow, id, version string) string {
	query := url.Values{"preset": {id}}
	if version != "" {
		query.Set("version", version)
	}
	return LaunchURL(workflow) + "?" + query.Encode()
}

// PresetPanel is the list of presets next to the launch form, with the form that saves one.
type PresetPanel struct {
	Rows    []PresetRow
	More    int         // presets that the panel does not list
	URL     string      // of the list of all presets
	Current string      // ID of the preset that filled in the form, or ""
	Based   string      // its state at that time
	Update  string      // name of that preset, if the reader may change it
	Form    *PresetForm // nil without permission
}

// PresetRow is a preset in a list.
type PresetRow struct {
	Name, URL   string
	LaunchURL   string
	Description string
	Shared      string // "only you", "project digits", "team Vision"
	Default     string // "your default", "default", or ""
	By          string // "you", "Mei"
	Version     string
	Values      string // how its values differ from the defaults
	Uses        string // "41 launches", or ""
	Changed     ui.Moment
	Current     bool
}

// PresetForm are the properties of a preset.
type PresetForm struct {
	Action      string
	Name        string
	Description string
	Sharing     string
	Sharings    []ui.Option
	Whole       bool   // of a new preset: all values, not only those that differ from the defaults
	Default     bool   // of a new preset: it becomes the reader's default
	Based       string // of a preset that exists: its state, which the change replaces
	Errors      map[string]string
	Open        bool
}

// Presets is the page with the presets of a workflow.
type Presets struct {
	Page
	Workflow, LaunchURL string
	Rows                []PresetRow
	Notice              string
}

// Preset is the page of one preset.
type Preset struct {
	Page
	Row        PresetRow
	Workflow   string
	Link       string // absolute URL of the form with its values
	Version    string // the latest, against which the values were checked
	Values     []PresetValue
	Added      []string
	Origin     string // the other project that shares it, or ""
	Form       *PresetForm
	DeleteURL  string
	DefaultURL string
	Mine, Ours PresetDefault
	Notice     string
	Failed     string // why a change was not saved, if no field is to blame
}

// PresetDefault reports whether a preset is a default, and whether the reader may change that.
type PresetDefault struct{ On, May bool }

// PresetValue is a value of a preset.
type PresetValue struct {
	Name, Value string
	Problem     string // why the latest version does not accept it
}

// incompatible counts the values that the latest version does not accept.
func (p Preset) incompatible() int {
	n := 0
	for _, v := range p.Values {
		if v.Problem != "" {
			n++
		}
	}
	return n
}

// presetID is the id of a control of the form that saves a preset.
func presetID(field string) string { return "preset-" + field }

// PresetErrorLine links an error of the form that saves a preset.
func PresetErrorLine(field, label, message string) forms.ErrorLine {
	return forms.ErrorLine{Target: presetID(field), Label: label, Text: message}
}

func joined(names []string) string { return strings.Join(names, ", ") }
