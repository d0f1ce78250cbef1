package forms_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/views/forms"
)

func TestSliders(t *testing.T) {
	t.Parallel()
	tests := []struct {
		expression, value string
		position          int
		ticks             []string
	}{
		{"Float(min=1e-5, max=0.1, log=true)", "0.001", 500, []string{"1e-5", "1e-4", "1e-3", "0.01", "0.1"}},
		{"Float(min=1e-7, max=0.1, log=true)", "1e-7", 0, []string{"1e-7", "1e-5", "1e-3", "0.1"}},
		{"Float(min=1e-6, max=10, log=true)", "10", 1000, []string{"1e-6", "3.2e-3", "10"}},
		{"Float(min=2e-5, max=0.5, log=true)", "99", 1000, []string{"2e-5", "3.2e-3", "0.5"}},
		{"Float(min=0, max=50)", "10", 200, []string{"0", "10", "20", "30", "40", "50"}},
		{"Float(min=0, max=0.9, step=0.1)", "0.3", 333, []string{"0", "0.3", "0.6", "0.9"}},
		{"Float(min=1, max=8, step=7)", "1", 0, []string{"1", "8"}},
		{"Float(min=0, max=1)", "nonsense", 0, []string{"0", "0.2", "0.4", "0.6", "0.8", "1"}},
	}
	for _, test := range tests {
		schema := schemaOf(t, field("it", test.expression))
		c := forms.New(forms.Config{Schema: schema, Values: map[string][]string{"inputs.it": {test.value}}}).Controls()[0]
		slider, ok := forms.SliderOf(c)
		require.True(t, ok, test.expression)
		require.Equal(t, test.position, slider.Position, test.expression)
		require.Equal(t, test.ticks, slider.Ticks, test.expression)
	}
	for expression, ends := range map[string][2]string{
		"Float(exclusive_min=0, exclusive_max=1)":           {"0.001", "0.999"},
		"Float(exclusive_min=0, max=1)":                     {"0.001", "1"},
		"Float(exclusive_min=0, exclusive_max=1, step=0.1)": {"0.1", "0.9"},
		"Float(min=1e-5, exclusive_max=0.1, log=true)":      {"1e-5", "0.0991"},
	} {
		slider, ok := forms.SliderOf(forms.New(forms.Config{Schema: schemaOf(t, field("it", expression))}).Controls()[0])
		require.True(t, ok, expression)
		require.Equal(t, ends[0], slider.Min, expression)
		require.Equal(t, ends[1], slider.Max, expression)
	}
	for _, expression := range []string{"Float(min=0)", "Integer(min=0, max=9)", "Float(min=1, max=1)"} {
		c := forms.New(forms.Config{Schema: schemaOf(t, field("it", expression))}).Controls()[0]
		_, ok := forms.SliderOf(c)
		require.False(t, ok, expression)
	}
}

// TestChangedComparesValues: another spelling of the default is no change.
func TestChangedComparesValues(t *testing.T) {
	t.Parallel()
	schema := schemaOf(t,
		map[string]any{"name": "hp", "type": "HyperparameterSet{l2: Float = 1e-5, n: Integer = 3}"},
		map[string]any{"name": "wait", "type": "Duration", "default": "90 s"}, map[string]any{"name": "on", "type": "Boolean", "default": true},
		map[string]any{"name": "tags", "type": "List<String>", "default": []any{"a"}},
	)
	same := map[string][]string{"inputs.hp.l2": {"0.00001"}, "inputs.hp.n": {"3"}, "inputs.wait": {"1 min 30 s"}, "inputs.on.$bool": {"1"}, "inputs.on": {"true"}, "inputs.tags.4": {"a"}}
	require.Empty(t, forms.New(forms.Config{Schema: schema, Values: same}).Changed())
	require.Empty(t, forms.New(forms.Config{Schema: schema}).Changed())
	other := map[string][]string{"inputs.hp.l2": {"0.1"}, "inputs.wait": {"1 min"}, "inputs.on.$bool": {"1"}, "inputs.tags.$n": {"0"}}
	require.Len(t, forms.New(forms.Config{Schema: schema, Values: other}).Changed(), 4)
}
