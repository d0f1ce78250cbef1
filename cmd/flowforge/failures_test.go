package main

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// testFailures lists, retries and dismisses what failed after its last retry. Before it, an execution of cli.fails
// has ended.
func (s *site) testFailures(t *testing.T) {
	list := s.ok(t, "failures", "list", "--class", "user_error")
	found := regexp.MustCompile(`(?m)^(\S{36})  .*cli\.fails 1\.0\.0`).FindStringSubmatch(list)
	require.NotNil(t, found, list)
	require.Contains(t, s.fails(t, "failures", "list", "--class", "bad_luck"), "class: Enter one of: user_error, ")
	require.Contains(t, s.fails(t, "failures", "dismiss"), "enter the IDs of the tasks to dismiss, or --all")
	require.Contains(t, s.fails(t, "failures", "dismiss", found[1], "--class", "network"), "cannot be used with IDs")
	require.Contains(t, s.ok(t, "failures", "dismiss", found[1], "--reason", "known"), "Dismissed 1 failed task.")
	require.Contains(t, s.fails(t, "failures", "dismiss", found[1]), "There is no dead letter")
	require.Equal(t, 1, s.run(t, nil, "launch", "cli.fails", "--wait").code)
	require.Contains(t, s.ok(t, "failures", "dismiss", "--all", "--class", "network"), "Dismissed 0 failed tasks.")
	require.Contains(t, s.ok(t, "failures", "dismiss", "--all"), "Dismissed 1 failed task.")
	require.NotContains(t, s.ok(t, "failures", "list"), "cli.fails")
	require.NotContains(t, s.ok(t, "failures", "undelivered"), "cli.fails")
	require.Contains(t, s.fails(t, "failures", "undelivered", "--dismiss"), "enter their IDs")
	require.Contains(t, s.fails(t, "failures", "undelivered", "1", "--dismiss"), "There is no undelivered event 1.")
}
