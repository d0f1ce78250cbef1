package argo

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/argo.md")

// TestRefusedFieldsAreDocumented: docs/argo.md lists every field that is refused.
func TestRefusedFieldsAreDocumented(t *testing.T) {
	t.Parallel()
	var rows []string
	seen := map[reflect.Type]bool{}
	var walk func(of reflect.Type, path string)
	walk = func(of reflect.Type, path string) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || seen[of] {
			return
		}
		seen[of] = true
		for f := range of.Fields() {
			at := strings.TrimPrefix(path+"."+f.Tag.Get("json"), ".")
			if f.Anonymous {
				at = path
			}
			if why := f.Tag.Get("argo"); why != "" {
				rows = append(rows, fmt.Sprintf("| `%s` | %s |", at, why))
			} else {
				walk(f.Type, at)
			}
		}
	}
	walk(reflect.TypeFor[metadata](), "metadata")
	walk(reflect.TypeFor[template](), "template")
	walk(reflect.TypeFor[spec](), "spec")
	slices.Sort(rows)
	section(t, "refused", "| field | what to do |\n|---|---|\n"+strings.Join(rows, "\n"))
}

// section compares a part of docs/argo.md with its expected text.
func section(t *testing.T, name, want string) {
	t.Helper()
	const file = "../../docs/argo.md"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	begin := fmt.Sprintf("<!-- %s: written by the tests -->\n", name)
	before, rest, ok := strings.Cut(string(data), begin)
	got, after, closed := strings.Cut(rest, "<!-- end -->")
	if !ok || !closed {
		t.Fatalf("%s has no place %q", file, name)
	}
	if got == want+"\n" {
		return
	}
	if !*update {
		t.Fatalf("%s is not up to date: run go test ./engine/argo ./engine/execution -run 'Documented' -update", file)
	}
	if err := os.WriteFile(file, []byte(before+begin+want+"\n<!-- end -->"+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
