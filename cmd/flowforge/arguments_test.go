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
