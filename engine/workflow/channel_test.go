package workflow

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/typeregistry"
)

const streams = `
name: streams
version: 1.0.0
operators:
  - {name: make, type: shell, code: {script: 'true'}, MAKER: x, outputs: [{name: rows, type: TYPE, OUT}, {name: count, type: Integer}]}
  - {name: read, type: shell, code: {script: 'true'}, READER: x, inputs: [{name: rows, from: make.rows, IN}]}
`

func TestStorageIsReadAndNothingIsIgnored(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, out, in, path, message string }{
		{"File", "storage: memory", "description: x", "", ""},
		{"File", "storage: streaming", "description: x", "", ""},
		{"Table", "storage: STREAMING", "description: x", "", ""},
		{"Optional<Dataset>", "storage: streaming", "description: x", "", ""},
		{"Directory", "storage: streaming", "description: x", "operators[0].outputs[0].storage", "type Directory cannot be read while they are written"},
		{"JSON", "storage: streaming", "description: x", "operators[0].outputs[0].storage", "type JSON cannot"},
		{"File", "storage: tape", "description: x", "operators[0].outputs[0].storage", "memory, disk, distributed or streaming"},
		{"File", "channel: STREAMING", "description: x", "operators[0].outputs[0].channel", "chosen when an attempt starts"},
		{"File", "storage: disk", "channel: streaming", "operators[1].inputs[0].channel", "chosen when an attempt starts"},
	} {
		doc := strings.NewReplacer("OUT", c.out, "IN", c.in, "TYPE", c.kind, "MAKER: x", "description: x", "READER: x", "description: x").Replace(streams)
		_, problems := Parse([]byte(doc), typeregistry.Builtin())
		if c.message == "" {
			require.Empty(t, problems, "%s %s", c.kind, c.out)
			continue
		}
		require.NotEmpty(t, problems, "%s, %s", c.out, c.in)
		require.Equal(t, c.path, problems[0].Path)
		require.Contains(t, problems[0].Message, c.message)
	}
}

// TestWhatIsReadWhileItIsWritten: the plan and what is said about an edge agree.
func TestWhatIsReadWhileItIsWritten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, maker, reader, out, why string }{
		{name: "streams", out: "storage: streaming"},
		{name: "another reason to wait for it", reader: "depends_on: [make]", out: "storage: streaming", why: "it also needs the final result of make"},
		{name: "a rule", reader: "depends: make.Succeeded", out: "storage: streaming", why: "its depends reads the final states of other operators"},
		{name: "a condition of the rest", reader: "when: nodes.make.outputs.count > 1", out: "storage: streaming", why: "it also needs the final result of make"},
		{name: "a cache of the reader", reader: "cache: {}", out: "storage: streaming", why: "its cache needs all bytes of an input"},
		{name: "a cache of the writer", maker: "cache: {}", out: "storage: streaming"},
		{name: "many writers", maker: "foreach: {items: [1, 2]}", out: "storage: streaming", why: "make is not a single attempt"},
		{name: "many readers", reader: "foreach: {items: [1, 2]}", out: "storage: streaming", why: "it is not a single attempt"},
		{name: "pods together", maker: "resources: {pods: 2}", out: "storage: streaming", why: "make is not a single attempt"},
		{name: "no streaming", out: "storage: disk", why: "-"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			or := func(text string) string {
				if text == "" {
					return "description: x"
				}
				return text
			}
			in := "description: x"
			if strings.Contains(c.name, "many writers") {
				in = "type: List<File>"
			}
			doc := strings.NewReplacer("OUT", c.out, "IN", in, "TYPE", "File", "MAKER: x", or(c.maker), "READER: x", or(c.reader)).Replace(streams)
			d, problems := Parse([]byte(doc), typeregistry.Builtin())
			require.Empty(t, problems)
			g := d.all()[0]
			plan, problems := g.compile()
			require.Empty(t, problems)
			requested, why := g.Streams(&g.Operators[1], g.Operators[1].Inputs[0])
			require.Equal(t, c.why != "-", requested)
			if c.why == "" {
				require.Empty(t, why)
				require.Equal(t, []int{0}, plan.Nodes[1].Reads)
				require.True(t, plan.Edges[0].Streams)
				return
			}
			require.Contains(t, why, strings.TrimPrefix(c.why, "-"))
			require.Empty(t, plan.Nodes[1].Reads)
		})
	}
}
