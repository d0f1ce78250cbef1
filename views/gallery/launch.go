package gallery

import (
	"slices"
	"strings"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
)

// launchEntries are the launch form in its states, and the widgets of all types.
func launchEntries() []Entry {
	return []Entry{
		{"launch", "Launch", func(f views.Page) templ.Component { return views.LaunchView(launch(f)) }},
		{"launch-errors", "Launch: values need attention", func(f views.Page) templ.Component { return views.LaunchView(launchErrors(f)) }},
		{"launch-yaml", "Launch: as YAML", func(f views.Page) templ.Component { return views.LaunchView(launchYAML(f)) }},
		{"launch-yaml-errors", "Launch: as YAML, with an error", func(f views.Page) templ.Component { return views.LaunchView(launchYAMLErrors(f)) }},
		{"launch-python", "Launch: as Python", func(f views.Page) templ.Component { return views.LaunchView(launchPython(f)) }},
		{"launch-command", "Launch: from a shell", func(f views.Page) templ.Component { return views.LaunchView(launchCommand(f)) }},
		{"widgets", "Widgets: plain values", func(f views.Page) templ.Component { return widgets(f, "Widgets: plain values", forms.PlainExamples()) }},
		{"widgets-rows", "Widgets: lists", func(f views.Page) templ.Component {
			return widgets(f, "Widgets: lists", nestedExamples("List"))
		}},
		{"widgets-maps", "Widgets: maps", func(f views.Page) templ.Component {
			return widgets(f, "Widgets: maps", nestedExamples("Map"))
		}},
		{"widgets-nested", "Widgets: nested values", func(f views.Page) templ.Component {
			return widgets(f, "Widgets: nested values", nestedExamples(""))
		}},
	}
}

func widgets(f views.Page, title string, examples []forms.Example) templ.Component {
	drawn, err := forms.Gallery(now(), examples)
	if err != nil {
		panic("gallery: " + err.Error()) // the tests render these constant examples
	}
	return widgetsPage(frame(f, title, ""), title, drawn)
}

// nestedExamples are the nested examples of a generic type, List or Map, or those of all others.
func nestedExamples(of string) []forms.Example {
	return slices.DeleteFunc(forms.NestedExamples(), func(e forms.Example) bool {
		generic := ""
		for _, name := range []string{"List", "Map"} {
			if strings.HasPrefix(e.Expression, name) {
				generic = name
			}
		}
		return generic != of
	})
}

func launchSchema() typeregistry.Schema {
	section := func(name string, hints map[string]any) map[string]any {
		hints["section"] = name
		return hints
	}
	schema, problems := typeregistry.Builtin().ParseSchema([]any{
		map[string]any{
			"name": "data", "type": "Dataset(columns=[image: Tensor[28, 28], label: Integer])", "description": "Labelled images.",
			"ui": section("Data", map[string]any{"label": "Training data"}),
		},
		map[string]any{"name": "as_of", "type": "Date", "default": "2026-11-19", "description": "Rows written after this day are excluded.", "ui": section("Data", map[string]any{"label": "Data as of"})},
		map[string]any{"name": "holdout", "type": `Float(min=0, max=50, unit="%")`, "default": 10, "ui": section("Data", map[string]any{"label": "Hold out"})},
		map[string]any{"name": "precision", "type": "Enum(bf16, fp16, fp32)", "default": "bf16", "ui": section("Training", map[string]any{})},
		map[string]any{"name": "workers", "type": `Integer(min=1, max=16)`, "default": 4, "ui": section("Training", map[string]any{})},
		map[string]any{
			"name": "optimizer", "type": "Union<Adam: Struct{beta_1: Float = 0.9, beta_2: Float = 0.999} | SGD: Struct{momentum: Float = 0.9}>",
			"default": map[string]any{"$type": "Adam", "beta_1": 0.9, "beta_2": 0.999}, "ui": section("Training", map[string]any{}),
		},
		map[string]any{
			"name": "hyperparameters", "type": "HyperparameterSet{learning_rate: Float(min=1e-5, max=0.1, log=true) = 0.003, batch_size: Enum(64, 256) = 256}",
			"ui": section("Training", map[string]any{}),
		},
		map[string]any{"name": "labels", "type": "File?", "ui": section("Extras", map[string]any{"label": "Label corrections"})},
		map[string]any{"name": "note", "type": "String?", "ui": section("Extras", map[string]any{"advanced": true})},
	}, "gallery")
	if len(problems) > 0 {
		panic("gallery: " + problems[0].Message)
	}
	return schema
}

func launch(f views.Page) views.LaunchPage { return launchWith(f, nil) }

func launchWith(f views.Page, problems []forms.Problem) views.LaunchPage {
	schema := launchSchema()
	data, _ := schema.Field("data")
	values := schema.EncodeForm(map[string]any{"data": "mnist-train@7"}, forms.Prefix)
	if len(problems) > 0 {
		values.Set("inputs.workers", "64")
	}
	form := forms.New(forms.Config{
		Schema: schema, Values: values, Problems: problems, Today: now(), Typeahead: views.TypeaheadURL(), Upload: views.UploadsURL(),
		Offers: forms.Offers{
			Choices: map[string][]forms.Choice{data.Type.String(): {{Value: "mnist-train@7", Title: "mnist-train@7", Note: "60,000 rows"}}},
			Previews: map[string]forms.Preview{forms.PreviewKey(data.Type, "mnist-train@7"): {
				Ref: "mnist-train@7", Facts: []string{"60,000 rows", "3 columns", "47 MiB"}, Fits: "schema ok",
				Columns: []forms.PreviewColumn{{Name: "image", Type: "Tensor", Need: "matches", State: "SUCCEEDED"}, {Name: "label", Type: "Integer", Need: "matches", State: "SUCCEEDED"}, {Name: "writer", Type: "String", Need: "not used"}},
			}},
		},
	})
	return views.LaunchPage{
		Page: frame(f, "Launch", views.SectionWorkflows, views.Crumb{Name: "Workflows", URL: views.WorkflowsURL()}, views.Crumb{Name: "digits.train", URL: views.WorkflowURL("digits.train")}),
		Workflow: views.LaunchWorkflow{
			ID: "0191f3a2-7c1d-7a2b-9c3d-4e5f60718293", Ref: "digits.train",
			Name: "digits.train", Lead: "Trains a small network and evaluates it per writer. 9 nodes.", Version: "2.4.0",
			Versions: []ui.Option{{Value: "2.4.0", Name: "2.4.0, latest", Selected: true}, {Value: "2.3.1", Name: "2.3.1"}},
		},
		View: views.LaunchForm, Key: "k", Form: form, ErrorLines: form.ErrorLines(),
		Priorities: []ui.Option{{Value: "NORMAL", Name: "Normal", Selected: true}, {Value: "LOW", Name: "Low: after others"}},
		Origin: &views.Provenance{
			From: "Filled in from a link.", Default: "1 value differs from the defaults:", Differs: []forms.ErrorLine{{Target: "f-data", Label: "Training data"}},
			Reset: views.LaunchURL("digits.train"),
		},
		Check: views.LaunchCheck{
			Ready: true, Waits: true, Summary: "Would wait about 12 min", Link: "http://127.0.0.1:8080/workflows/digits.train/launch?input.workers=8",
			Verdicts: []views.Verdict{
				{Tone: "ok", Strong: "All values are valid.", Text: "9 inputs checked."},
				{Tone: "wait", Strong: "Would wait about 12 min behind 3 jobs (A100 GPUs).", Text: "train: requests 8 A100 GPUs; team Vision has 4 left of 12."},
			},
			Choices: []views.Verdict{
				{Tone: "ok", Strong: "H100:", Text: "Starts now."}, {Tone: "no", Strong: "L4:", Text: "Cannot run here: requests 8 L4 GPUs; the limit of team Vision is 4."},
			},
			Facts: []ui.Fact{
				{Name: "Starts", Value: "≈ 14:24", Note: "14:18 to 14:40"}, {Name: "Ends", Value: "≈ 15:05"}, {Name: "Uses", Value: "5.4 GPU-hours"},
				{Name: "Based on", Value: "61 earlier attempts"},
			},
		},
		Recent: []views.RecentInputs{
			{URL: "/workflows/digits.train/launch?from=1", Label: "“lr sweep”", State: "SUCCEEDED", Note: "Workers 8 · Hold out 5 %", When: clock().Moment(now())},
			{URL: "/workflows/digits.train/launch?from=2", Label: "#7h0c", State: "FAILED", Note: "All defaults", When: clock().Moment(now())},
		},
	}
}

func launchErrors(f views.Page) views.LaunchPage {
	page := launchWith(f, []forms.Problem{
		{Path: "workers", Message: "64 is more than 16. Enter 1 to 16."},
		{Path: "optimizer.beta_2", Message: "1.2 is more than 1. Enter 0 to 1."},
		{Path: "labels", Message: "This file has no column row_id. Choose another one."},
	})
	page.Origin = nil
	page.Failed = "Nothing was launched: 3 values need attention"
	page.Check.Ready, page.Check.Summary = false, "3 values need attention"
	page.Check.Verdicts = []views.Verdict{{Tone: "wait", Strong: "3 values need attention.", Links: page.ErrorLines}}
	return page
}

func launchYAML(f views.Page) views.LaunchPage {
	page := launchWith(f, nil)
	page.View = views.LaunchYAML
	page.Check.Code = views.LaunchCode{View: page.View, Text: "kind: Execution\nworkflow: digits.train\nversion: 2.4.0\ninputs:\n  data: mnist-train@7\n  workers: 8\n"}
	return page
}

func launchYAMLErrors(f views.Page) views.LaunchPage {
	page := launchYAML(f)
	page.Origin = nil
	page.Failed = "Nothing was launched: 1 value needs attention"
	page.ErrorLines = []forms.ErrorLine{{Target: views.LaunchTextID, Line: 6, Label: "Workers", Text: "64 is more than 16. Enter 1 to 16."}}
	page.Check.Ready, page.Check.Summary = false, "1 value needs attention"
	page.Check.Verdicts = []views.Verdict{{Tone: "wait", Strong: "1 value needs attention.", Links: page.ErrorLines}}
	page.Check.Code.Text = "kind: Execution\nworkflow: digits.train\nversion: 2.4.0\ninputs:\n  data: mnist-train@7\n  workers: 64\n"
	page.Check.Code.Problems = page.ErrorLines
	return page
}

func launchPython(f views.Page) views.LaunchPage {
	page := launchWith(f, nil)
	page.View = views.LaunchPython
	page.Check.Code = views.LaunchCode{View: page.View, Samples: []views.CodeSample{
		{ID: "launch-python", Title: "Python", Text: "import flowforge\n\nrun = flowforge.launch(\n    \"digits.train@2.4.0\",\n    {\n        \"workers\": 8,\n    },\n)\nrun.wait()\n"},
	}}
	return page
}

func launchCommand(f views.Page) views.LaunchPage {
	page := launchWith(f, nil)
	page.View = views.LaunchCommand
	page.Check.Code = views.LaunchCode{View: page.View, Samples: []views.CodeSample{
		{ID: "launch-command", Title: "Command line", Text: "flowforge launch digits.train@2.4.0 \\\n  -i data=mnist-train@7 \\\n  -i workers=8"},
		{ID: "launch-curl", Title: "API", Note: "Set FLOWFORGE_TOKEN to one of your API keys.", Text: "curl -X POST https://flowforge.example/api/v1/executions \\\n  -H \"Authorization: Bearer $FLOWFORGE_TOKEN\" \\\n  -d '{\"workflow\": \"digits.train\"}'"},
	}}
	return page
}
