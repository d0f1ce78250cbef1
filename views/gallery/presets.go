package gallery

import (
	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
)

// presetEntries are the pages of presets and the launch form with one.
func presetEntries() []Entry {
	return []Entry{
		{"presets", "Presets", func(f views.Page) templ.Component { return views.PresetsPage(presets(f)) }},
		{"presets-none", "Presets: none", func(f views.Page) templ.Component {
			m := presets(f)
			m.Rows = nil
			return views.PresetsPage(m)
		}},
		{"preset", "Preset", func(f views.Page) templ.Component { return views.PresetPage(presetOf(f)) }},
		{"launch-preset", "Launch: a preset that does not fit", func(f views.Page) templ.Component { return views.LaunchView(launchPreset(f)) }},
	}
}

func presetRows() []views.PresetRow {
	return []views.PresetRow{
		{
			Name: "Quick check on 1 GPU", URL: views.PresetURL("digits.train", "1"), LaunchURL: views.LaunchPresetURL("digits.train", "1", ""), Description: "Before every change",
			Shared: "team “Vision”", Default: "default", By: "Mei", Version: "2.4.0", Values: "Workers 1 · Hold out 5 %", Uses: "41 launches", Changed: clock().Moment(now()), Current: true,
		},
		{
			Name: "Nightly", URL: views.PresetURL("digits.train", "2"), LaunchURL: views.LaunchPresetURL("digits.train", "2", ""),
			Shared: "only you", By: "you", Version: "2.3.1", Values: "All defaults", Changed: clock().Moment(now()),
		},
	}
}

func presetCrumbs() []views.Crumb {
	return []views.Crumb{{Name: "Workflows", URL: views.WorkflowsURL()}, {Name: "digits.train", URL: views.WorkflowURL("digits.train")}}
}

func presets(f views.Page) views.Presets {
	return views.Presets{
		Page: frame(f, "Presets", views.SectionWorkflows, presetCrumbs()...), Workflow: "digits.train", LaunchURL: views.LaunchURL("digits.train"), Rows: presetRows(),
	}
}

func presetForm() *views.PresetForm {
	return &views.PresetForm{
		Action: views.PresetURL("digits.train", "1"), Name: "Quick check on 1 GPU", Description: "Before every change", Whole: true,
		Sharings: []ui.Option{{Value: "private", Name: "Only you"}, {Value: "project", Name: "Project “digits”"}, {Value: "team", Name: "Team “Vision”", Selected: true}},
		Errors:   map[string]string{"name": "This name is already in use. Update the existing preset, or choose another name."}, Open: true,
	}
}

func presetOf(f views.Page) views.Preset {
	return views.Preset{
		Page: frame(f, "Quick check on 1 GPU", views.SectionWorkflows, append(presetCrumbs(), views.Crumb{Name: "Presets", URL: views.PresetsURL("digits.train")})...),
		Row:  presetRows()[0], Workflow: "digits.train", Link: "https://flowforge.example/workflows/digits.train/launch?preset=1", Version: "2.5.0",
		Values: []views.PresetValue{{Name: "workers", Value: "1"}, {Name: "holdout", Value: "60 %", Problem: "60 is more than 50. Enter 0 to 50."}},
		Added:  []string{"seed"}, Form: presetForm(), DeleteURL: views.PresetDeleteURL("digits.train", "1"), DefaultURL: views.PresetDefaultURL("digits.train", "1"),
		Mine: views.PresetDefault{May: true}, Ours: views.PresetDefault{On: true, May: true},
	}
}

func launchPreset(f views.Page) views.LaunchPage {
	page := launchWith(f, nil)
	page.Origin = &views.Provenance{
		Kind: "warn", From: "Filled in from the preset “Quick check on 1 GPU”.", URL: views.PresetURL("digits.train", "1"),
		Text:         "New since version 2.3.1: seed. It was saved for version 2.3.1. 2 values no longer fit version 2.4.0 and were left out:",
		Incompatible: []forms.ErrorLine{{Target: "f-holdout", Label: "Hold out", Text: "60 is more than 50. Enter 0 to 50."}, {Label: "momentum", Text: "this version does not have this input."}},
		Reset:        views.LaunchPresetURL("digits.train", "", "2.4.0"),
	}
	page.Presets = views.PresetPanel{Rows: presetRows(), More: 3, URL: views.PresetsURL("digits.train"), Current: "1", Update: "Quick check on 1 GPU", Form: presetForm()}
	return page
}
