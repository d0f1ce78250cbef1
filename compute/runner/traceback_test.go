package runner

import (
	"strings"
	"testing"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// TestTracebackIsReported: the end of a failed attempt has what its task wrote, and nothing else
// does: not a success, not a link, not more than the limit.
func TestTracebackIsReported(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, test := range []struct{ name, script, want string }{
		{"failed", `echo '{"exceptions": []}' > "$FLOWFORGE_TRACEBACK"; exit 1`, "{\"exceptions\": []}\n"},
		{"succeeded", `echo x > "$FLOWFORGE_TRACEBACK"`, ""},
		{"link", `ln -s /etc/passwd "$FLOWFORGE_TRACEBACK"; exit 1`, ""},
		{"pipe", `mkfifo "$FLOWFORGE_TRACEBACK"; exit 1`, ""},
		{"large", `head -c 32769 /dev/zero > "$FLOWFORGE_TRACEBACK"; exit 1`, ""},
		{"none", "exit 1", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := b.run(t, shell("traceback-"+test.name, test.script)).Traceback; got != test.want {
				t.Errorf("%q; want %q", got, test.want)
			}
		})
	}
}

// TestTracebackOfPython: the SDK writes the exception of an operator. Values of variables are not
// in it, and secrets in its message are masked.
func TestTracebackOfPython(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.server.secrets = map[string]string{"tracker": secretValue}
	spec := secretive("traceback", "", "tracker")
	spec.Work = &flowforgev1.AttemptSpec_Process{Process: &flowforgev1.Process{Interpreter: "python", Script: `from flowforge import _traceback, client

def fail():
    rows = "hid" + "den"
    raise ValueError(client.inputs["k0"])

_traceback.guard(fail)
`}}
	got := b.run(t, spec).Traceback
	for _, want := range []string{`"type": "ValueError"`, `"message": "***"`, `"function": "fail"`, `"locals": ["rows"]`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s does not contain %s", got, want)
		}
	}
	if strings.Contains(got, "hidden") {
		t.Errorf("%s contains the value of a variable", got)
	}
}
