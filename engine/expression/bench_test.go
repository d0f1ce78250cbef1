package expression

import (
	"sync"
	"testing"
)

const usual = `nodes.train.outputs.accuracy >= 0.9 && inputs.n > 3 && nodes["my-op"].status == "FAILED"`

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		if _, err := Parse(usual); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBool(b *testing.B) {
	e, err := Parse(usual)
	if err != nil {
		b.Fatal(err)
	}
	values := env()
	for b.Loop() {
		if _, err := e.Bool(values); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRenderValue(b *testing.B) {
	s := scope()
	doc := map[string]any{"args": []any{"{{inputs.parameters.message}}", "x", "{{=asInt(inputs.parameters.x) + 1}}"}, "image": "busybox"}
	for b.Loop() {
		if _, err := s.RenderValue(doc); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWhen(b *testing.B) {
	for b.Loop() {
		if _, err := When(`heads == tails || "a" == 'a'`); err != nil {
			b.Fatal(err)
		}
	}
}

// One expression serves all executions of a definition at once.
func TestExpressionsAreSharedByMany(t *testing.T) {
	t.Parallel()
	e, err := ParseArgo(usual + ` && sprig.upper(join(map(1..100, string(# * inputs.n)), ",")) != "" && nodes.train.status matches "^S"`)
	if err != nil {
		t.Fatal(err)
	}
	tpl, err := ParseTemplate("{{item}} {{=sprig.upper(item)}}")
	if err != nil {
		t.Fatal(err)
	}
	values := env()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				if ok, err := e.Bool(values); err != nil || !ok {
					t.Errorf("got %v, %v", ok, err)
				}
				if text, err := scope().render(tpl, newMeter(), 0); err != nil || text != "debian DEBIAN" {
					t.Errorf("got %q, %v", text, err)
				}
			}
		})
	}
	all.Wait()
}
