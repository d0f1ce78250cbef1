package main

import (
	"testing"

	"github.com/flowforge/flowforge/web/contract"
)

// TestConnectionFieldsHaveTheirTypes: a port on the command line is a number, and a database called 5432
// is a text.
func TestConnectionFieldsHaveTheirTypes(t *testing.T) {
	t.Parallel()
	postgres := &contract.ConnectionInput{Kind: "postgres"}
	custom := &contract.ConnectionInput{Kind: "custom", Declared: []contract.ConnectionField{{Name: "fast", Type: "Boolean"}, {Name: "size", Type: "Enum(1, 2)"}}}
	for _, test := range []struct {
		in         *contract.ConnectionInput
		name, text string
		want       any
	}{
		{postgres, "port", "5433", 5433.0},
		{postgres, "port", "many", "many"},
		{postgres, "database", "5432", "5432"},
		{custom, "fast", "true", true},
		{custom, "size", "1", "1"},
	} {
		if got := fieldValue(test.in, test.name, test.text); got != test.want {
			t.Errorf("%s=%s is %#v, not %#v", test.name, test.text, got, test.want)
		}
	}
}
