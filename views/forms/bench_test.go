package forms_test

import (
	"fmt"
	"io"
	"net/url"
	"testing"

	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views/forms"
)

// BenchmarkLongList draws a list of 500 unions of structs.
func BenchmarkLongList(b *testing.B) {
	schema, problems := typeregistry.Builtin().ParseSchema([]any{field("it", "List<Union<A: Struct{x: Integer, y: Float} | B: List<Integer>>>")}, "inputs")
	if len(problems) > 0 {
		b.Fatal(problems)
	}
	values := url.Values{}
	for i := range 500 {
		values.Set(fmt.Sprintf("inputs.it.%d.$type", i), "A")
		values.Set(fmt.Sprintf("inputs.it.%d.A.x", i), "1")
		values.Set(fmt.Sprintf("inputs.it.%d.A.y", i), "2")
	}
	for b.Loop() {
		if err := forms.Fields(forms.New(forms.Config{Schema: schema, Values: values})).Render(b.Context(), io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
