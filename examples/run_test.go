package examples_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/examples"
	"github.com/flowforge/flowforge/typeregistry"
)

// run is one execution of an example by the files of the task contract alone,
// without a server: inputs as JSON, outputs as files.
type run struct {
	t      *testing.T
	d      *workflow.Definition
	dir    string
	code   string
	inputs map[string]any
	server string
}

// newRun unpacks the code of an example and starts a server that takes every report.
func newRun(t *testing.T, name string, dir string, inputs map[string]any) *run {
	t.Helper()
	r := &run{t: t, d: load(t, name), dir: dir, code: t.TempDir()}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "{}")
	}))
	t.Cleanup(server.Close)
	r.server = server.URL
	code, err := fs.Sub(examples.Folder(name), "code")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(r.code, code); err != nil {
		t.Fatal(err)
	}
	defaults, found := r.d.Inputs.CheckAll(nil, typeregistry.Env{})
	if len(found) > 0 {
		t.Fatalf("%s without inputs: %v", name, found)
	}
	r.inputs = defaults
	maps.Copy(r.inputs, inputs)
	return r
}

// runExample runs every operator of an example in order and returns the folder
// with outputs as <operator>/<output>.
func runExample(t *testing.T, name string, inputs map[string]any) string {
	t.Helper()
	r := newRun(t, name, t.TempDir(), inputs)
	plans, problems := r.d.Compile()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, level := range plans[""].Levels {
		for _, i := range level {
			r.operator(&r.d.Operators[i])
		}
	}
	return r.dir
}

func (r *run) output(ref workflow.Reference) string {
	return filepath.Join(r.dir, ref.Operator, ref.Output)
}

// value is what the runner would put into the inputs file.
func (r *run) value(in workflow.Input) any {
	switch in.Source.Kind {
	case workflow.SourceInput:
		return r.inputs[in.Source.Input]
	case workflow.SourceFuture:
		path := r.output(in.Source.Future)
		if in.Type.IsBlob() {
			return path
		}
		data, err := os.ReadFile(path)
		if err != nil {
			r.t.Fatal(err)
		}
		v, err := typeregistry.DecodeJSON(data)
		if err != nil {
			r.t.Fatalf("%s: %v", path, err)
		}
		return v
	case workflow.SourceLiteral:
	}
	return in.Source.Value
}

func (r *run) operator(op *workflow.Operator) {
	r.t.Helper()
	inputs := map[string]any{}
	for _, in := range op.Inputs {
		inputs[in.Name] = r.value(in)
	}
	data, err := json.Marshal(inputs)
	if err != nil {
		r.t.Fatal(err)
	}
	file := filepath.Join(r.dir, op.Name+".json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		r.t.Fatal(err)
	}
	sdk, err := filepath.Abs("../sdk/python")
	if err != nil {
		r.t.Fatal(err)
	}
	process, _ := op.Process()
	command := exec.CommandContext(r.t.Context(), process.Command[0], process.Command[1:]...)
	command.Dir = r.code
	command.Env = append(os.Environ(), "PYTHONPATH="+sdk, "PYTHONDONTWRITEBYTECODE=1", "FLOWFORGE_TASK_ID=x.0.1", "FLOWFORGE_API_ENDPOINT="+r.server,
		"FLOWFORGE_INPUTS="+file, "FLOWFORGE_OUTPUTS="+filepath.Join(r.dir, op.Name),
		"FLOWFORGE_CHECKPOINTS="+filepath.Join(r.dir, "checkpoints", op.Name), "FLOWFORGE_SPOOL="+filepath.Join(r.dir, "spool"))
	if text, err := command.CombinedOutput(); err != nil {
		r.t.Fatalf("%s: %v\n%s", op.Name, err, text)
	}
	for _, out := range op.Outputs {
		if _, err := os.Stat(filepath.Join(r.dir, op.Name, out.Name)); err != nil {
			r.t.Errorf("%s wrote no output %s", op.Name, out.Name)
		}
	}
}

func read(t *testing.T, elements ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elements...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func table(t *testing.T, elements ...string) [][]string {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(read(t, elements...))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func mustBePNG(t *testing.T, elements ...string) {
	t.Helper()
	if !bytes.HasPrefix(read(t, elements...), []byte("\x89PNG\r\n\x1a\n")) {
		t.Errorf("%s is no PNG", filepath.Join(elements...))
	}
}

func TestDigitsLearnsToRead(t *testing.T) {
	t.Parallel()
	dataset, err := filepath.Abs("digits/data/digits.csv")
	if err != nil {
		t.Fatal(err)
	}
	for _, model := range []string{"mlp", "softmax"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			dir := runExample(t, "digits", map[string]any{"dataset": dataset, "epochs": 4, "model": model})
			var accuracy float64
			if err := json.Unmarshal(read(t, dir, "evaluate", "accuracy"), &accuracy); err != nil || accuracy < 0.85 {
				t.Errorf("accuracy %v, %v", accuracy, err)
			}
			var confusion struct {
				Kind   string
				Labels []string
				Matrix [][]int
			}
			if err := json.Unmarshal(read(t, dir, "evaluate", "confusion"), &confusion); err != nil {
				t.Fatal(err)
			}
			held := 0
			for _, row := range confusion.Matrix {
				for _, n := range row {
					held += n
				}
			}
			if confusion.Kind != "confusion_matrix" || len(confusion.Labels) != 10 || held < 440 || held > 460 {
				t.Errorf("%d images in %+v", held, confusion)
			}
			if rows := table(t, dir, "train", "history"); len(rows) != 5 {
				t.Errorf("history: %v", rows)
			}
			if rows := table(t, dir, "evaluate", "per_class"); len(rows) != 11 {
				t.Errorf("per class: %v", rows)
			}
			mustBePNG(t, dir, "evaluate", "mistakes")
			page := string(read(t, dir, "report", "report"))
			if !strings.Contains(page, "<h1>Handwritten digits</h1>") || !strings.Contains(page, fmt.Sprintf("%.2f %%", 100*accuracy)) {
				t.Error("the report does not say how good the model is")
			}
		})
	}
}

func TestImageReportCountsTheCoins(t *testing.T) {
	t.Parallel()
	for picture, want := range map[string][]int{"coins": {20, 28}, "cell": {1, 6}, "horse": {1, 1}} {
		t.Run(picture, func(t *testing.T) {
			t.Parallel()
			dir := runExample(t, "image_report", map[string]any{"picture": picture})
			var count int
			if err := json.Unmarshal(read(t, dir, "detect_objects", "count"), &count); err != nil || count < want[0] || count > want[1] {
				t.Errorf("%d objects, want %v (%v)", count, want, err)
			}
			if rows := table(t, dir, "detect_objects", "objects"); len(rows) != count+1 {
				t.Errorf("%d rows for %d objects", len(rows)-1, count)
			}
			mustBePNG(t, dir, "detect_objects", "marked")
			if page := string(read(t, dir, "generate_report", "report")); !strings.Contains(page, "data:image/png;base64,") {
				t.Error("the report shows no picture")
			}
		})
	}
}

// TestTrainingGoesOnFromACheckpoint stops the training after two epochs and
// starts it again with more: only the missing ones run.
func TestTrainingGoesOnFromACheckpoint(t *testing.T) {
	t.Parallel()
	dataset, err := filepath.Abs("digits/data/digits.csv")
	if err != nil {
		t.Fatal(err)
	}
	dir := runExample(t, "digits", map[string]any{"dataset": dataset, "epochs": 2, "model": "softmax"})
	first := table(t, dir, "train", "history")
	r := newRun(t, "digits", dir, map[string]any{"dataset": dataset, "epochs": 4, "model": "softmax"})
	train, _ := r.d.Operator("train")
	r.operator(train)
	second := table(t, dir, "train", "history")
	if len(second) != 5 || !slices.Equal(second[2], first[2]) {
		t.Errorf("history after the second attempt: %v", second)
	}
}
