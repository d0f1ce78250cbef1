package workflow

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flowforge/flowforge/typeregistry"
)

func TestDocumentLimits(t *testing.T) {
	t.Parallel()
	bomb := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 12; i++ {
		alias := fmt.Sprintf("*a%d", i-1)
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(alias+",", 10), ","))
	}
	var keys strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&keys, "k%d: v\n", i)
	}
	for name, test := range map[string]struct{ doc, want string }{
		"empty":            {"", "empty"},
		"only a comment":   {"# nothing\n", "empty"},
		"a list":           {"[1]", "mapping"},
		"two documents":    {"name: a\n---\nname: b\n", "more than one"},
		"not text":         {"\xff\xfe", "UTF-8"},
		"nul":              {"name: a\x00", "NUL"},
		"escaped nul":      {`{"name": "a\u0000"}`, "NUL"},
		"yaml escaped nul": {`name: "a\0"`, "NUL"},
		"too large":        {strings.Repeat(" ", MaxDocumentBytes+1), "larger"},
		"deep json":        {strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000), "nested"},
		"many keys":        {keys.String(), "2000 keys"},
		"large yaml":       {strings.Repeat("# x\n", maxYAMLBytes/4) + "a: 1", "use JSON"},
		"deep flow":        {"a: " + strings.Repeat("[", 100_000), "nested"},
		"deep blocks":      {strings.Repeat("- ", 100_000) + "x", "nested"},
		"alias bomb":       {bomb, "values"},
		"alias to itself":  {"a: &x [*x]", "nested"},
		"unknown alias":    {"a: *x", "alias"},
		"duplicate key":    {"name: a\nname: b\n", "name"},
		"duplicate json":   {`{"name": "a", "name": "b"}`, "twice"},
		"tag":              {"name: !!binary aGVsbG8=", "not supported"},
		"broken":           {"name: [a", "Line 1"},
	} {
		d, problems := Parse([]byte(test.doc), typeregistry.Builtin())
		if d != nil || len(problems) != 1 || !strings.Contains(problems[0].Message, test.want) {
			t.Errorf("%s: %v, want %q", name, problems, test.want)
		}
	}
}

func TestMergeKeysAndAnchors(t *testing.T) {
	t.Parallel()
	d := mustParse(t, `
name: a
version: 1.0.0
operators:
  - &base {name: one, type: command, code: {command: [x]}, timeout: 5m, retry: &r {limit: 2}}
  - {<<: *base, name: two, timeout: 90}
  - {name: three, type: command, code: {command: [y]}, retry: *r}
`)
	if d.Operators[1].Name != "two" || d.Operators[1].Timeout != 90*time.Second || d.Operators[2].Retry.Limit != 2 {
		t.Errorf("%+v", d.Operators)
	}
}
