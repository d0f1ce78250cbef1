package handlers_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// exampleDocument is a workflow with a name of the examples.
const exampleDocument = `
name: NAME
version: 1.0.0
description: SUMMARY
operators:
  - {name: only, type: noop}
`

// TestFirstScreenRecommendsWhatRunsAtOnce: other examples install packages first, so the first
// screen does not recommend them, whatever their order.
func TestFirstScreenRecommendsWhatRunsAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	register := func(name, description string) {
		b.register(t, strings.NewReplacer("NAME", name, "SUMMARY", description).Replace(exampleDocument))
	}
	register("digits.train", "Runs at once")
	for _, name := range []string{"digits.sklearn", "a.digits", "b.other", "c.other", "d.other", "e.other", "f.other"} {
		register(name, "Installs packages first")
	}
	page := b.member.get(t, "/")
	page.says(t, http.StatusOK, "Launch your first workflow")
	_, hero, _ := strings.Cut(page.body, "Launch your first workflow")
	hero, _, _ = strings.Cut(hero, "</section>")
	require.Contains(t, hero, `href="/workflows/digits.train/launch"`)
	require.Contains(t, hero, "Runs at once")
}

// TestVersionsReadAsRegistered: pages show versions of workflows as they were registered, without a "v" before them.
func TestVersionsReadAsRegistered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, strings.NewReplacer("NAME", "plain.flow", "SUMMARY", "").Replace(exampleDocument))
	for path, want := range map[string]string{"/": "Version 1.0.0", "/search?q=plain": "1.0.0", "/workflows/plain.flow/launch": "1.0.0, latest"} {
		page := b.member.get(t, path)
		page.says(t, http.StatusOK, want)
		require.NotContains(t, page.body, "v1.0.0", path)
	}
}
