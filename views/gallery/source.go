package gallery

import (
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

func sourceEntries() []Entry {
	return []Entry{
		{"workflow-python", "Workflow from Python: overview", func(f views.Page) templ.Component { return views.WorkflowPage(pythonWorkflow(f, "")) }},
		{"node-traceback", "Node: traceback", func(f views.Page) templ.Component { return views.NodePage(failedNode(f)) }},
		{"node-environment-failed", "Node: environment that cannot be built", func(f views.Page) templ.Component { return views.NodePage(unbuiltNode(f)) }},
		{"workflow-python-source", "Workflow from Python: source", func(f views.Page) templ.Component { return views.WorkflowPage(pythonWorkflow(f, "source")) }},
		{"workflow-python-binary", "Workflow from Python: file that is not text", func(f views.Page) templ.Component { return views.WorkflowPage(unshownFile(f)) }},
		{"workflow-diff", "Workflow: changes between versions", func(f views.Page) templ.Component { return views.VersionDiffPage(versionDiff(f)) }},
		{"workflow-python-versions", "Workflow from Python: versions", func(f views.Page) templ.Component { return views.WorkflowPage(pythonWorkflow(f, "versions")) }},
	}
}

// lines makes source lines of text in which ⟦k word⟧ is a part with the class k.
func lines(first int, text string) []views.SourceLine {
	var all []views.SourceLine
	for n, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		l := views.SourceLine{Number: first + n}
		for line != "" {
			before, rest, found := strings.Cut(line, "⟦")
			if before != "" {
				l.Parts = append(l.Parts, views.SourcePart{Text: before})
			}
			if !found {
				break
			}
			class, rest, _ := strings.Cut(rest, " ")
			part, after, _ := strings.Cut(rest, "⟧")
			l.Parts = append(l.Parts, views.SourcePart{Class: class, Text: part})
			line = after
		}
		all = append(all, l)
	}
	return all
}

const searchText = `⟦k from⟧ typing ⟦k import⟧ Annotated, Literal

⟦k from⟧ flowforge ⟦k import⟧ Dataset, Model, Range, foreach, workflow

⟦k from⟧ search.train ⟦k import⟧ best, split, train


⟦d @workflow⟧(name=⟦s "digits.search"⟧)
⟦k def⟧ ⟦f search⟧(
    data: Dataset,
    lr: Annotated[float, Range(1e-4, 1, log=⟦k True⟧)] = 0.05,
    kinds: list[Literal[⟦s "svc"⟧, ⟦s "forest"⟧]] = [⟦s "svc"⟧],
) -> Model:
    ⟦s """Finds the best classifier for handwritten digits."""⟧
    parts = split(data)
    fits = foreach(kinds, ⟦k lambda⟧ kind: train(parts.train, lr, kind))
    ⟦k return⟧ best(fits)
`

const trainText = `⟦d @operator⟧(cpu=2, memory=⟦s "2Gi"⟧, retry=2, timeout=⟦s "30m"⟧)
⟦k def⟧ ⟦f train⟧(table: Dataset, lr: float, kind: Literal[⟦s "svc"⟧, ⟦s "forest"⟧]) -> tuple[Model, float]:
    ⟦s """Fits one classifier and measures it on the held-out part."""⟧
    frame = table.load()  ⟦c # pandas.DataFrame⟧
    x_fit, x_held, y_fit, y_held = train_test_split(features(frame), frame[⟦s "label"⟧], test_size=0.2)
    model = SVC(C=1 / lr) ⟦k if⟧ kind == ⟦s "svc"⟧ ⟦k else⟧ RandomForestClassifier()
    model.fit(x_fit, y_fit)
    ⟦k return⟧ Model(model), model.score(x_held, y_held)
`

func trainCode() views.NodeCode {
	return views.NodeCode{Text: "code", Kind: "search/train.py", URL: "#", Source: views.Source{Name: "Code", ID: "code-", Lines: lines(16, trainText)}}
}

// unbuiltNode is a node whose requirements conflict.
func unbuiltNode(f views.Page) views.Node {
	m := node(f)
	m.Head.State, m.Head.Summary = "FAILED", "could not install the requirements (exit code 1)."
	m.Python.State, m.Python.Packages, m.Python.Facts = "failed", nil, []ui.Fact{{Name: "ID", Value: "3f2a9c41d07be85512fa90c3", Mono: true}, {Name: "Installed by", Value: "pip"}, {Name: "Build took", Value: "1.9 s"}}
	m.Python.Output = "Installing requirements into a new environment: scikit-learn==1.7.2, pandas>=3\nERROR: Cannot install pandas>=3 and scikit-learn==1.7.2 because these package versions have conflicting dependencies."
	return m
}

func pythonWorkflow(f views.Page, tab string) views.Workflow {
	m := workflow(f, tab)
	commit := views.Commit{Hash: "b82e01d", Full: "b82e01d3c3e7", Branch: "main", Subject: "Limit rows for quick checks", Dirty: true}
	m.FromPython, m.Commit, m.PackageURL, m.Source, m.Returns = true, commit, "#", "", "Model"
	m.Inputs[0].Annotation, m.Inputs[1].Annotation = "Dataset", "Annotated[int, Range(1, 200)]"
	m.Inputs[2].Annotation, m.Inputs[3].Annotation = "Settings", "date"
	shown := lines(1, searchText)
	for i := 7; i < len(shown); i++ {
		shown[i].Marked = true
	}
	m.Python = views.PythonSource{
		File: "flow.py", Size: "534 bytes", Text: "text", DownloadURL: "#", DefinitionURL: "#", Source: views.Source{Name: "flow.py", ID: "L", Lines: shown},
		Function: "search", FunctionURL: "#L8", FunctionLines: "lines 8 to 17", Total: "5 files, 31 KiB",
		Files: []views.SourceFile{
			{Name: "flow.py", URL: "#", Size: "534 bytes", Current: true}, {Name: "pyproject.toml", URL: "#", Size: "412 bytes"}, {Name: "search/features.py", URL: "#", Size: "3.1 KiB"},
			{Name: "search/train.py", URL: "#", Size: "2.4 KiB"}, {Name: "search/weights.npz", URL: "#", Size: "25 KiB"},
		},
	}
	m.Packages = []views.OperatorPackages{
		{Operators: []string{"split", "train"}, Requirements: []string{"scikit-learn==1.7.2", "pandas>=3"}}, {Operators: []string{"best"}, Requirements: []string{"numpy"}},
	}
	if tab == "" {
		m.Python.Source.Lines = lines(8, strings.Join(strings.Split(searchText, "\n")[7:], "\n"))
	}
	row := func(version, level, from, change, hash, subject string, dirty bool, age time.Duration) views.VersionRow {
		return views.VersionRow{
			Version: version, URL: "#", LaunchURL: "#", By: "Amara Okafor", Created: clock().Moment(ago(age)), Runs: "1,000+", Succeeded: "86 %", Level: level, From: from, Change: change,
			Commit: views.Commit{Hash: hash, Full: hash, Branch: "main", Subject: subject, Dirty: dirty},
		}
	}
	m.Versions, m.Noted = []views.VersionRow{
		row("1.1.0", "Minor", "1.0.1", "adds optional input max_rows", "b82e01d", "Limit rows for quick checks", true, 2*time.Hour), row("1.0.1", "Patch", "1.0.0", "signature unchanged", "91d07f4", "Fix moments of empty images", false, 30*time.Hour),
		row("1.0.0", "Major", "", "the first version", "5e20cc8", "Search over kinds of classifiers", false, 300*time.Hour),
	}, true
	m.Versions[0].Latest = true
	m.Development, m.DevelopmentCount = []views.VersionRow{row("1.2.0-dev.h3fa90c11d2be", "Minor", "1.1.0", "input lr accepts more: Float(max=10) instead of Float(max=1)", "b82e01d", "Limit rows for quick checks", true, time.Hour)}, 62
	return m
}

// unshownFile is the tab Source for a file that is not text.
func unshownFile(f views.Page) views.Workflow {
	m := pythonWorkflow(f, "source")
	m.Python.File, m.Python.Size, m.Python.Text, m.Python.Source, m.Python.Function = "search/weights.npz", "25 KiB", "", views.Source{}, ""
	m.Python.Files[0].Current, m.Python.Files[4].Current = false, true
	m.Python.Omitted = "12 files are not listed. Download the package to see all."
	return m
}

// traceback is the exception of the node in failedNode.
func traceback() views.Traceback {
	failing := lines(21, "    model = SVC(C=1 / lr)\n    model.fit(x_fit, y_fit)\n    ⟦k return⟧ Model(model), model.score(x_held, y_held)\n")
	failing[1].Failed, failing[1].Note = true, "ValueError: Input X contains NaN."
	calls := lines(11, "⟦k def⟧ ⟦f features⟧(frame: DataFrame) -> ndarray:\n    moments = image_moments(frame)\n    ⟦k return⟧ hstack([frame, moments])\n")
	calls[1].Marked = true
	frame := func(function, where string, source []views.SourceLine, open bool, locals ...string) views.TracebackFrame {
		return views.TracebackFrame{Function: function, Where: where, URL: "#", Open: open, Source: views.Source{Name: where, Lines: source}, Locals: locals}
	}
	return views.Traceback{Attempt: "2", Text: "ValueError: Input X contains NaN.", Omitted: "2 more exceptions are only in the log.", Exceptions: []views.TracebackException{
		{
			Type: "ValueError", Message: "Input X contains NaN. SVC does not accept missing values encoded as NaN natively.",
			Frames: []views.TracebackFrame{frame("train", "search/train.py:22", failing, true, "table", "lr", "kind", "x_fit", "y_fit", "model", "api_key"), frame("features", "search/features.py:12", calls, false)},
			Libraries: []views.TracebackLibrary{{Text: "2 frames in sklearn", Where: "sklearn/utils/validation.py:1107", Frames: []views.LibraryFrame{
				{Function: "check_array", Where: "sklearn/utils/validation.py:1107", Code: "_assert_all_finite("}, {Function: "fit", Where: "sklearn/svm/_base.py:197", Code: "X, y = validate_data("},
			}}},
			Omitted: "970 more frames are only in the log.",
		},
		{Lead: "Caused by", Type: "ZeroDivisionError", Message: "division by zero", Frames: []views.TracebackFrame{frame("image_moments", "search/features.py:31", nil, true)}},
	}}
}

// failedNode is a node whose operator raised an exception.
func failedNode(f views.Page) views.Node {
	m := node(f)
	m.Head.State, m.Head.Summary, m.Traceback = "FAILED", "", traceback()
	m.Code.Source.Lines[6].Failed, m.Code.Source.Lines[6].Note = true, "ValueError: Input X contains NaN."
	return m
}
