package workflow

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/typeregistry"
)

const podYAML = `
name: gpu.train
version: 1.0.0
operators:
  - name: train
    type: command
    code: {image: "cuda-torch:2.9", command: [python3, train.py]}
    resources: {cpu: 4, memory: 16Gi, gpu: 1, gpu_type: A100, pods: 4, shm: 8Gi}
    retry: {limit: 3, memory: {factor: 1.5, limit: 64Gi}}
    pod:
      tolerations: [{key: nvidia.com/gpu, operator: Exists}]
      nodeSelector: {zone: "a<b"}
      terminationGracePeriodSeconds: 30
  - name: small
    type: shell
    resident: true
    code: {script: "true"}
`

func TestParseReadsPods(t *testing.T) {
	t.Parallel()
	d := mustParse(t, podYAML)
	train, small := d.Operators[0], d.Operators[1]
	if train.Code.Image != "cuda-torch:2.9" || train.Resources.Pods != 4 || train.Resources.ShmMiB != 8192 || !small.Resident || train.Resident {
		t.Errorf("%+v %+v", train, small)
	}
	if diff := cmp.Diff(MemoryGrowth{Factor: 1.5, LimitMiB: 65536}, train.Retry.Memory); diff != "" {
		t.Error(diff)
	}
	want := `{"nodeSelector":{"zone":"a\u003cb"},"terminationGracePeriodSeconds":30,"tolerations":[{"key":"nvidia.com/gpu","operator":"Exists"}]}`
	if diff := cmp.Diff(want, string(train.Pod)); diff != "" {
		t.Error(diff)
	}
	first, hash, err := d.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	again, problems := Parse(first, typeregistry.Builtin())
	if len(problems) > 0 {
		t.Fatalf("the canonical form is not read back: %v\n%s", problems, first)
	}
	second, same, err := again.Canonical()
	if err != nil || hash != same {
		t.Errorf("%v\n%s\n%s", err, first, second)
	}
}

func TestParseRefusesPods(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ from, to, path string }{
		"growth without memory": {"memory: 16Gi, ", "", "operators[0].retry.memory"},
		"growth below memory":   {"limit: 64Gi", "limit: 8Gi", "operators[0].retry.memory.limit"},
		"growth without limit":  {", limit: 64Gi", "", "operators[0].retry.memory.limit"},
		"no growth at all":      {"factor: 1.5", "factor: 0.5", "operators[0].retry.memory.factor"},
		"a warm gang":           {"pod:", "resident: true\n    pod:", "operators[0].resident"},
		"pods are a mapping":    {"pod:\n", "pod: []\n    parameters:\n", "operators[0].pod"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, problems := Parse([]byte(strings.Replace(podYAML, test.from, test.to, 1)), typeregistry.Builtin())
			if len(problems) != 1 || problems[0].Path != test.path {
				t.Errorf("%v, want one at %s", problems, test.path)
			}
		})
	}
}

func TestMemoryGrowth(t *testing.T) {
	t.Parallel()
	g := MemoryGrowth{Factor: 1.5, LimitMiB: 100}
	for before, want := range map[int]int{0: 0, 1: 2, 40: 60, 60: 90, 90: 100, 100: 100, 200: 200} {
		if got := g.After(before); got != want {
			t.Errorf("after %d MiB %d, want %d", before, got, want)
		}
	}
	if got := (MemoryGrowth{}).After(40); got != 40 {
		t.Errorf("without growth %d", got)
	}
}

func TestPodFieldsAreChecked(t *testing.T) {
	t.Parallel()
	d := mustParse(t, podYAML)
	s := &Service{}
	if problems := s.checkPods(d); len(problems) > 0 {
		t.Errorf("without a check: %v", problems)
	}
	s.CheckPodsWith(func([]byte) error {
		return apperr.InvalidFields("It is not valid.", []apperr.Field{{Path: "nodeSelector.zone", Message: "No."}})
	})
	if diff := cmp.Diff([]apperr.Field{{Path: "operators[0].pod.nodeSelector.zone", Message: "No."}}, s.checkPods(d)); diff != "" {
		t.Error(diff)
	}
	s.CheckPodsWith(func([]byte) error { return errors.New("nothing fits") })
	if diff := cmp.Diff([]apperr.Field{{Path: "operators[0].pod", Message: "Nothing fits."}}, s.checkPods(d)); diff != "" {
		t.Error(diff)
	}
}

// TestDocumentedPods: the definition in docs/pods.md is one.
func TestDocumentedPods(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/pods.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```yaml\n")
	doc, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("there is no definition in docs/pods.md")
	}
	d := mustParse(t, doc)
	if train := d.Operators[0]; train.Resources.Pods != 2 || train.Retry.Memory.After(train.Resources.MemoryMiB) != 131072 || len(train.Pod) == 0 {
		t.Errorf("%+v", train)
	}
}

func TestFreshInterpreters(t *testing.T) {
	t.Parallel()
	d := mustParse(t, `
name: interpreters
version: 1.0.0
operators:
  - {name: plain, type: python, code: {script: "1"}}
  - {name: own, type: python, fresh: true, code: {script: "1"}}
  - {name: cuda, type: python, resources: {gpu: 1}, code: {script: "1"}}
  - {name: shared, type: python, fresh: false, resources: {gpu: 1}, code: {script: "1"}}
`)
	canonical, err := d.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	again, problems := Parse(canonical, typeregistry.Builtin())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, definition := range []*Definition{d, again} {
		for i, want := range []bool{false, true, true, false} {
			if o := &definition.Operators[i]; o.StartsFresh() != want {
				t.Errorf("%s: fresh %v, want %v", o.Name, o.StartsFresh(), want)
			}
		}
	}
	if d.Operators[0].Work() != d.Operators[1].Work() {
		t.Error("an interpreter of its own changes the work")
	}
	_, problems = Parse([]byte(`
name: interpreters
version: 1.0.0
operators:
  - {name: a, type: shell, fresh: true, code: {script: "true"}}
  - {name: b, type: python, fresh: maybe, code: {script: "1"}}
`), typeregistry.Builtin())
	if len(problems) != 2 || problems[0].Path != "operators[0].fresh" || problems[1].Path != "operators[1].fresh" {
		t.Errorf("problems %v", problems)
	}
}
