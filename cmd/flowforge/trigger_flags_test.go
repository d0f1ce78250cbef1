package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/web/contract"
)

// TestFlagsOfOtherTriggers: trigger set refuses a flag that the kind of the trigger would ignore, and names both.
func TestFlagsOfOtherTriggers(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--webhook github --secret hook --pattern *.csv": "--pattern does not apply to triggers of the kind webhook: it belongs to --s3, --all",
		"--webhook github --connection lake":             "--connection does not apply to triggers of the kind webhook: it belongs to --http, --s3",
		"--after a --stage production":                   "--stage does not apply to triggers of the kind execution: it belongs to --model",
		"--dataset a --state FAILED":                     "--state does not apply to triggers of the kind dataset: it belongs to --after",
		"--s3 raw/ --connection lake --appears":          "--appears does not apply to triggers of the kind s3: it belongs to --http, --all",
		"--model a --within 1h":                          "--within does not apply to triggers of the kind model: it belongs to --all",
		"--all a=dataset:a --all b=model:b --every 1m":   "--every does not apply: no condition of --all has the kind http or s3",
		"--all a=dataset:a --all b=s3:lake/b --appears":  "--appears does not apply: no condition of --all has the kind http",
		"--all a=dataset:a --all b=s3:lake/b --every 1m": "",
		"--after a --state FAILED --filter true":         "",
		"--http x --connection portal --every 1m":        "",
	} {
		set, _, err := newTriggerCommand().Find([]string{"set"})
		require.NoError(t, err)
		require.NoError(t, set.ParseFlags(strings.Fields(args)))
		err = triggerWhen(set, &contract.TriggerInput{})
		if want == "" {
			require.NoError(t, err, args)
			continue
		}
		require.EqualError(t, err, want, args)
	}
}
