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
	require.EqualError(t, arguments("EXECUTION")(cmd, nil), "EXECUTION is missing: logs EXECUTION")
	require.EqualError(t, arguments("EXECUTION")(cmd, []string{"x", "y"}), `"y" is too much: logs EXECUTION`)
	require.EqualError(t, arguments()(cmd, []string{"x"}), `"x" is too much: logs takes no argument`)
}
