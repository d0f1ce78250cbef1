package main

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

func TestArguments(t *testing.T) {
	t.Parallel()
	cmd := &cobra.Command{Use: "logs"}
	require.NoError(t, arguments("EXECUTION")(cmd, []string{"x"}))
	require.EqualError(t, arguments("EXECUTION")(cmd, nil), "missing argument EXECUTION; usage: logs EXECUTION")
	require.EqualError(t, arguments("EXECUTION")(cmd, []string{"x", "y"}), `unexpected argument "y"; usage: logs EXECUTION`)
	require.EqualError(t, arguments()(cmd, []string{"x"}), `unexpected argument "x": logs accepts no arguments`)
}

// TestBetweenArguments: the error of a command with optional arguments states its usage.
func TestBetweenArguments(t *testing.T) {
	t.Parallel()
	cmd := &cobra.Command{Use: "diff WORKFLOW FROM [TO]"}
	require.NoError(t, between(2, 3)(cmd, []string{"w", "1", "2"}))
	require.EqualError(t, between(2, 3)(cmd, []string{"w"}), "missing argument; usage: diff WORKFLOW FROM [TO]")
	require.EqualError(t, between(2, 3)(cmd, []string{"w", "1", "2", "3"}), `unexpected argument "3"; usage: diff WORKFLOW FROM [TO]`)
	require.NoError(t, between(1, 0)(cmd, []string{"a", "b", "c"}))
}

func TestVersionArgument(t *testing.T) {
	t.Parallel()
	name, version, err := versionArgument("digits-net@1.0.0")
	require.NoError(t, err)
	require.Equal(t, []string{"digits-net", "1.0.0"}, []string{name, version})
	for arg, message := range map[string]string{
		"digits-net":  `"digits-net" is not NAME@VERSION: write digits-net@VERSION`,
		"digits-net@": `"digits-net@" is not NAME@VERSION: write digits-net@VERSION`,
		"@1":          `"@1" is not NAME@VERSION: write NAME@VERSION`,
	} {
		_, _, err := versionArgument(arg)
		require.EqualError(t, err, message)
	}
}

func TestConditionArgument(t *testing.T) {
	t.Parallel()
	c, err := triggerCondition(&cobra.Command{}, "trained=execution:digits.train:failed")
	require.NoError(t, err)
	require.Equal(t, []string{"FAILED"}, c.States)
	_, err = triggerCondition(&cobra.Command{}, "images=dataset:images:3")
	require.EqualError(t, err, `--all "images=dataset:images:3": a condition of the kind dataset has only a source: remove ":3"`)
}
