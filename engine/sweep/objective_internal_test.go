package sweep

import (
	"strings"
	"testing"

	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

func TestOutputsThatAreNoNumbers(t *testing.T) {
	t.Parallel()
	registry := typeregistry.Builtin()
	var outputs []workflow.Output
	for _, of := range [][2]string{{"loss", "Optional<Float>"}, {"rank", "Enum(1, 2)"}, {"any", "JSON"}, {"per_file", "Map<Integer>"}, {"model", "Optional<Model>"}} {
		typ, err := registry.Parse(of[1])
		if err != nil {
			t.Fatal(err)
		}
		outputs = append(outputs, workflow.Output{Name: of[0], Type: typ})
	}
	for name, want := range map[string]string{
		"loss": "", "rank": "", "any": "", "per_file.a": "",
		"per_file": `The output "per_file" has the type Map, and an objective must be a number.`,
		"model":    `The output "model" has the type Model, and an objective must be a number.`,
		"score":    `x has no output "score". It has loss, rank, any, per_file, model.`,
	} {
		if got := outputProblem("x", outputs, name); got != want && (want == "" || !strings.HasPrefix(got, want)) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
