package workflow

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowforge/flowforge/typeregistry"
)

func TestPreemptionFieldsOfAnOperator(t *testing.T) {
	t.Parallel()
	d := mustParse(t, `
name: rooms
version: 1.0.0
operators:
  - {name: plain, type: shell, code: {script: "true"}}
  - name: gang
    type: shell
    preemptible: false
    grace_period: 2m
    resources: {gpu: 4, gpu_type: A100-80GB, pods: 2, spread: true}
    code: {script: "true"}
`)
	plain, gang := &d.Operators[0], &d.Operators[1]
	if plain.NeverPreempt || plain.Grace() != DefaultGracePeriod || plain.Resources.Pods != 0 {
		t.Errorf("%+v", plain)
	}
	if !gang.NeverPreempt || gang.Grace() != 2*time.Minute {
		t.Errorf("%+v", gang)
	}
	if diff := cmp.Diff(Resources{GPUs: 4, GPUType: "A100-80GB", Pods: 2, Spread: true}, gang.Resources); diff != "" {
		t.Error(diff)
	}
	canonical, err := d.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	again, problems := Parse(canonical, typeregistry.Builtin())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if diff := cmp.Diff(d.Operators[1].Resources, again.Operators[1].Resources); diff != "" || !again.Operators[1].NeverPreempt || again.Operators[1].GracePeriod != 2*time.Minute {
		t.Errorf("the canonical form loses fields: %s\n%s", diff, canonical)
	}
	if strings.Contains(string(canonical[:strings.Index(string(canonical), "gang")]), "preemptible") {
		t.Errorf("defaults must be omitted: %s", canonical)
	}
}

func TestInvalidPreemptionFields(t *testing.T) {
	t.Parallel()
	_, problems := Parse([]byte(`
name: rooms
version: 1.0.0
operators:
  - name: a
    type: shell
    preemptible: sometimes
    grace_period: 2h
    resources: {gpu: 1, gpu_type: "A 100/x", pods: 5000}
    code: {script: "true"}
  - {name: b, type: shell, resources: {spread: true, cpu: 1}, code: {script: "true"}}
`), typeregistry.Builtin())
	var paths []string
	for _, p := range problems {
		paths = append(paths, p.Path)
	}
	want := []string{
		"operators[0].grace_period", "operators[0].preemptible", "operators[0].resources.gpu_type", "operators[0].resources.pods", "operators[1].resources.spread",
	}
	for _, path := range want {
		if !strings.Contains(strings.Join(paths, " "), path) {
			t.Errorf("no problem at %s: %v", path, problems)
		}
	}
	if len(problems) != len(want) {
		t.Errorf("%v", problems)
	}
}
