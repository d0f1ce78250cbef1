package gallery

import (
	"time"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
)

func resumeEntries() []Entry {
	return []Entry{
		{"resume", "Resume: preview", func(f views.Page) templ.Component { return views.ResumeView(resume(f)) }},
		{"resume-refused", "Resume: nothing would run", func(f views.Page) templ.Component { return views.ResumeView(resumeRefused(f)) }},
		{"register", "Register a workflow", func(f views.Page) templ.Component { return views.RegisterPage(register(f)) }},
		{"register-errors", "Register: a document with errors", func(f views.Page) templ.Component { return views.RegisterPage(registerErrors(f)) }},
		{"semaphores", "Semaphores", func(f views.Page) templ.Component { return views.SemaphoresView(semaphores(f)) }},
		{"semaphores-empty", "Semaphores: none, read-only", func(f views.Page) templ.Component {
			return views.SemaphoresView(views.Semaphores{Page: frame(f, "Semaphores", views.SectionWaiting)})
		}},
		{"storage", "Storage", func(f views.Page) templ.Component { return views.StorageView(storage(f)) }},
	}
}

func resume(f views.Page) views.ResumePage {
	schema := launchSchema()
	form := forms.New(forms.Config{Schema: schema, Values: schema.EncodeForm(map[string]any{"data": "mnist-train@7", "workers": 8}, forms.Prefix), Today: now()})
	const id = "0192f3a2-7c1d-7a2b-9c3d-4e5f60718293"
	return views.ResumePage{
		Page:   frame(f, "Resume digits.train", views.SectionExecutions, views.Crumb{Name: "Executions", URL: views.ExecutionsURL()}, views.Crumb{Name: "digits.train #718293", URL: "#"}),
		Action: views.ResumeURL(id, ""), Title: "digits.train", Short: "#718293", State: "FAILED", Key: "k", Shown: "2.4.0", Form: form,
		Nodes: []string{"load", "train", "evaluate"}, Versions: []ui.Option{{Value: "2.4.0", Name: "2.4.0, latest", Selected: true}},
		Priorities: []ui.Option{{Name: "As before: Normal", Selected: true}, {Value: "HIGH", Name: "High: before others"}},
		Options: views.LaunchOptions{
			Cache: []ui.Option{{Value: "on", Name: "Use and update the cache", Selected: true}}, KeepHelp: "Leave empty to use the workflow’s retention: 7 d after a success, 90 d after a failure.",
			Keep: "soon", KeepError: "Enter a duration such as 12h or 30d.", More: true,
			CacheOf: []views.OperatorCache{{Operator: "load", Choices: []ui.Option{{Name: "Same as for all", Selected: true}, {Value: "off", Name: "Do not use the cache"}}}},
		},
		ResourceOverrides: []views.ResourceOverride{
			{Operator: "*", Label: "All that run", DefinedCPU: "as defined", DefinedMemory: "as defined", DefinedGPUs: "as defined"},
			{Operator: "train", Label: "train", CPU: "4000", DefinedCPU: "2", DefinedMemory: "4 GiB", DefinedGPUs: "1", Error: "Cannot run here: requests 4000 cores; the cluster has 64 cores."},
		},
		MoreOverrides: 3, OverridesOpen: true,
		Preview: views.ResumePreview{
			Summary: "2 of 3 nodes run", Changes: []views.ResumeChange{{Name: "workers", Target: "f-workers", Before: "4", After: "8"}},
			Nodes: []views.ResumeNode{
				{Name: "train", URL: "#", State: "FAILED", Runs: true, Why: "It uses workers, which changed.", Inside: "38 of its 40 items are reused."},
				{Name: "evaluate", URL: "#", State: "SKIPPED", Runs: true, Why: "It depends on train, which will run."},
				{Name: "load", URL: "#", State: "SUCCEEDED", Why: "It succeeded, and its dependencies did not change."},
			},
		},
	}
}

func resumeRefused(f views.Page) views.ResumePage {
	m := resume(f)
	m.State, m.Failed = "SUCCEEDED", "Nothing was resumed: the execution succeeded. Choose the node to rerun from."
	m.Options, m.ResourceOverrides, m.MoreOverrides = views.LaunchOptions{KeepHelp: m.Options.KeepHelp}, nil, 0
	m.Preview = views.ResumePreview{Refusal: "The execution succeeded. Choose the node to rerun from.", Summary: "No node would run"}
	return m
}

func register(f views.Page) views.Register {
	return views.Register{Page: frame(f, "Register a workflow", views.SectionWorkflows, views.Crumb{Name: "Workflows", URL: views.WorkflowsURL()})}
}

func registerErrors(f views.Page) views.Register {
	m := register(f)
	m.Document = "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {generateName: hello-}\nspec:\n  entrypoint: main\n  templates:\n    - name: main\n      container: {image: busybox, comand: [echo, hello]}\n"
	m.Failed = "The definition has 1 problem."
	m.Problems = []views.RegisterProblem{{Path: "spec.templates[0].container.comand", Message: "Unknown field. Did you mean command?"}}
	return m
}

func semaphores(f views.Page) views.Semaphores {
	line := func(node string, since time.Duration) views.LockLine {
		return views.LockLine{Name: node, Sub: "digits.train #718293", URL: "#", Since: clock().Moment(ago(since))}
	}
	return views.Semaphores{
		Page: frame(f, "Semaphores", views.SectionWaiting), MaySet: true, Name: "licences", Permits: "many", Problem: "Enter a whole number of at least 1.",
		Rows: []views.SemaphoreRow{
			{Name: "Executions of digits.train", URL: "#", Permits: "4", Source: "max_running of the workflow", Held: "1", Holders: []views.LockLine{line("digits.train", time.Hour)}},
			{Name: "database", Permits: "1", Source: "a mutex", Settable: true, Held: "0"},
			{
				Name: "licences", Permits: "2", Value: "2", Source: "set by mei", SetAt: new(clock().Moment(ago(time.Hour))), Settable: true, Held: "2", Waiting: 31,
				Holders: []views.LockLine{line("train", 20*time.Minute), line("evaluate", 4*time.Minute)}, Waiters: []views.LockLine{line("score[3]", time.Minute)}, MoreWaiters: "and 30 more",
			},
		},
	}
}

func storage(f views.Page) views.StoragePage {
	last := views.Cleanup{
		Started: clock().Moment(ago(20 * time.Minute)), Kind: "Cleanup", Executions: "1,204", Removes: "1,204 executions", Artifacts: "3,310", Released: "1.2 TiB", Freed: "310 GiB",
		Took: "48 s", Error: "ClickHouse is not responding: 12 executions were not removed.",
	}
	ahead := views.Cleanup{Started: clock().Moment(ago(time.Minute)), Kind: "Preview", Executions: "12", Removes: "12 executions", Artifacts: "–", Released: "4 GiB", Freed: "1 GiB", Took: "2 s"}
	return views.StoragePage{
		Page: frame(f, "Storage", views.SectionAdmin), Tabs: []ui.Tab{{Name: "People", URL: "#"}, {Name: "Storage", URL: "#", Current: true}},
		Rule: "Executions are kept for 90 days after their end unless their workflow sets a retention.", Foresee: &ahead, Last: &last, Rows: []views.Cleanup{ahead, last},
	}
}
