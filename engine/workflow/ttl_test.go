package workflow

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/typeregistry"
)

func TestTTL(t *testing.T) {
	t.Parallel()
	const operators = "name: a\nversion: 1.0.0\noperators: [{name: x, type: noop}]\n"
	const never = time.Duration(-1)
	for _, test := range []struct {
		text             string
		success, failure time.Duration
	}{
		{"", never, never},
		{"ttl: 12h", 12 * time.Hour, 12 * time.Hour},
		{"ttl: {after_completion: 30d}", 30 * 24 * time.Hour, 30 * 24 * time.Hour},
		{"ttl: {after_completion: 1h, after_success: 0s}", 0, time.Hour},
		{"ttl: {after_failure: 300}", never, 5 * time.Minute},
	} {
		d, problems := Parse([]byte(operators+test.text), typeregistry.Builtin())
		require.Empty(t, problems, test.text)
		for range 2 { // as it was written, and in canonical form
			for succeeded, want := range map[bool]time.Duration{true: test.success, false: test.failure} {
				got, ok := d.TTL.After(succeeded)
				require.Equal(t, want != never, ok, test.text)
				if ok {
					require.Equal(t, want, got, test.text)
				}
			}
			canonical, err := json.Marshal(d)
			require.NoError(t, err)
			d, problems = Parse(canonical, typeregistry.Builtin())
			require.Empty(t, problems, "%s", canonical)
		}
	}
	for _, wrong := range []string{"ttl: soon", "ttl: -1s", "ttl: {after_success: 4000d}", "ttl: {after: 1h}"} {
		_, problems := Parse([]byte(operators+wrong), typeregistry.Builtin())
		require.NotEmpty(t, problems, wrong)
		require.Contains(t, problems[0].Path, "ttl", wrong)
	}
}
