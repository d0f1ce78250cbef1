package protect

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		end       End
		want      Class
		transient bool
	}{
		{"success", End{Outcome: "SUCCEEDED", ExitCode: new(0)}, "", false},
		{"cancelled", End{Outcome: "CANCELLED", ExitCode: new(143)}, "", false},
		{"a user error", End{Outcome: "FAILED", Class: "error", ExitCode: new(1), Message: "ValueError: lr"}, UserError, false},
		{"exit 137", End{Outcome: "FAILED", Class: "error", ExitCode: new(137)}, OutOfMemory, true},
		{"exit 143", End{Outcome: "FAILED", ExitCode: new(143)}, Preempted, true},
		{"exit 255", End{Outcome: "FAILED", ExitCode: new(255)}, UserError, true},
		{"reported by the kernel", End{Outcome: "FAILED", Class: "out_of_memory", ExitCode: new(1)}, OutOfMemory, true},
		{"refused connection", End{Outcome: "FAILED", ExitCode: new(1), Message: "psql: Connection refused"}, Network, true},
		{"reset connection", End{Outcome: "FAILED", ExitCode: new(1), Message: "read: connection reset by peer"}, Network, true},
		{"timeout of a call", End{Outcome: "FAILED", ExitCode: new(1), Message: "ReadTimeout: https"}, Network, true},
		{"temporary", End{Outcome: "FAILED", ExitCode: new(1), Message: "Temporary failure in name resolution"}, Network, true},
		{"busy", End{Outcome: "FAILED", ExitCode: new(11), Message: "fork: Resource temporarily unavailable"}, Network, true},
		{"429 in words", End{Outcome: "FAILED", ExitCode: new(1), Message: "Too Many Requests"}, Network, true},
		{"503 in words", End{Outcome: "FAILED", ExitCode: new(1), Message: "Service Unavailable"}, Network, true},
		{"429 as a number", End{Outcome: "FAILED", Message: "HTTP Error 429"}, Network, true},
		{"503 as a number", End{Outcome: "FAILED", Message: "status code: 503"}, Network, true},
		{"another 503", End{Outcome: "FAILED", ExitCode: new(1), Message: "row 503 is empty"}, UserError, false},
		{"its own timeout", End{Outcome: "TIMED_OUT", ExitCode: new(137)}, Timeout, true},
		{"outputs", End{Outcome: "OUTPUT_FAILED", ExitCode: new(0), Message: "Output v is missing."}, UserError, false},
		{"image", End{Outcome: "START_FAILED", Class: "image", Message: "i/o timeout"}, Image, false},
		{"not started", End{Outcome: "START_FAILED", Message: "no such file"}, Start, false},
		{"not admitted", End{Outcome: "START_FAILED", Class: "refused"}, Start, false},
		{"machine", End{Outcome: "LOST", Class: "node_lost"}, NodeLost, true},
		{"silent", End{Outcome: "LOST"}, NodeLost, true},
		{"evicted", End{Outcome: "LOST", Class: "evicted"}, Preempted, true},
		{"made room", End{Outcome: "PREEMPTED"}, Preempted, true},
		{"interrupted", End{Outcome: "INTERRUPTED"}, NodeLost, true},
	} {
		require.Equal(t, c.want, Classify(c.end), c.name)
		require.Equal(t, c.transient, Transient(c.end), c.name)
	}
	for _, c := range Classes() {
		require.NotEmpty(t, c.Words())
	}
}

func TestPolicies(t *testing.T) {
	t.Parallel()
	own := End{Outcome: "FAILED", ExitCode: new(1)}
	oom := End{Outcome: "FAILED", ExitCode: new(137)}
	outputs := End{Outcome: "OUTPUT_FAILED", ExitCode: new(0)}
	image := End{Outcome: "START_FAILED", Class: "image"}
	late := End{Outcome: "TIMED_OUT"}
	for _, c := range []struct {
		policy Policy
		allows []bool // own, oom, outputs, image, late
	}{
		{"", []bool{true, true, true, true, true}},
		{Always, []bool{true, true, true, true, true}},
		{OnError, []bool{true, true, false, false, true}},
		{OnTransient, []bool{false, true, false, false, true}},
		{Never, []bool{false, false, false, false, false}},
	} {
		for k, e := range []End{own, oom, outputs, image, late} {
			require.Equal(t, c.allows[k], c.policy.Allows(e), "%s of %+v", c.policy, e)
			if !c.allows[k] {
				require.NotEmpty(t, c.policy.Declines(e))
			}
		}
	}
	for text, want := range map[string]Policy{"always": Always, "on_error": OnError, "OnTransient": OnTransient, "NEVER": Never, "on-transient": OnTransient} {
		got, ok := ParsePolicy(text)
		require.True(t, ok, text)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "OnFailure", "sometimes"} {
		_, ok := ParsePolicy(text)
		require.False(t, ok, text)
	}
}
