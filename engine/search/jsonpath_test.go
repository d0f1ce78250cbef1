package search_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/search"
)

func TestMetadataNeedsItsPart(t *testing.T) {
	t.Parallel()
	both := []search.Type{search.Number, search.String}
	names := search.NewNames([]search.Field{
		{Part: search.Metrics, Name: "loss", Types: both[:1]}, {Part: search.Outputs, Name: "evaluate.accuracy", Types: both[:1]},
		{Part: search.Metadata, Name: "model.accuracy", Types: both}, {Part: search.Metadata, Name: "report.author", Types: both}, {Part: search.Metadata, Name: "model.author", Types: both},
	})
	for query, path := range map[string]string{
		"accuracy > 0.9": "outputs.evaluate.accuracy", "metadata.accuracy > 0.9": "metadata.model.accuracy",
		"metadata.model.author = x": "metadata.model.author", "artifact.metadata.accuracy > 0.9": "metadata.model.accuracy",
	} {
		e, err := search.Parse(query, search.Context{Names: names})
		require.NoError(t, err, query)
		require.Equal(t, path, search.Used(e)[0].Path(), query)
	}
	_, err := search.Parse("metadata.author = x", search.Context{Names: names})
	require.ErrorContains(t, err, "can mean")
	_, err = search.Parse("author = x", search.Context{Names: names})
	require.Error(t, err, "metadata has no short names")
}

func TestConditionsBecomePredicates(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 8, 0, 0, 0, 0, time.UTC)
	for query, want := range map[string]string{
		"":                             "",
		"metadata.accuracy >= 0.9":     definite(`$."metadata"."accuracy" >= 0.9`),
		`metadata.a = 'x" || true'`:    definite(`$."metadata"."a" == "x\" || true"`),
		"not metadata.done = true":     "(!" + definite(`($."metadata"."done" == true || $."metadata"."done" == "true")`) + ")",
		"metadata.tags in (a, b)":      definite(`$."metadata"."tags" == "a" || $."metadata"."tags" == "b"`),
		"type = Model has:metadata.lr": "(" + definite(`$."type" == "Model"`) + ` && (exists($."metadata"."lr")))`,
		"net":                          definite(`($."name" like_regex "net" flag "iq")`),
		"since:7d":                     definite(`$."created" >= 1.7934912e+09`),
		"metadata.f !~ a.b":            definite(`(exists($."metadata"."f") && !($."metadata"."f" like_regex "a.b" flag "iq"))`),
	} {
		got, err := search.Condition(query, search.ArtifactFields(), []string{"name"}, now)
		require.NoError(t, err, query)
		require.Equal(t, want, got, query)
	}
	_, err := search.Condition("accuracy > 1", search.ArtifactFields(), nil, now)
	require.ErrorContains(t, err, "Metadata begins with metadata.")
}

func definite(predicate string) string {
	return "((" + predicate + ") && !((" + predicate + ") is unknown))"
}

// TestPredicatesStaySmall: negations do not repeat their operands, and no query makes a predicate
// that a database cannot take.
func TestPredicatesStaySmall(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 8, 0, 0, 0, 0, time.UTC)
	condition := func(query string) (string, error) {
		return search.Condition(query, search.ArtifactFields(), []string{"name", "node"}, now)
	}
	one, err := condition("type = Model")
	require.NoError(t, err)
	for _, nots := range []int{4, 12, 90} {
		got, err := condition(strings.Repeat("not ", nots) + "type = Model")
		require.NoError(t, err)
		require.Len(t, got, len(one)+nots*len("(!)"))
	}
	_, err = condition(strings.Repeat("type = Model ", 2000))
	require.ErrorContains(t, err, "The query is too long.")
	_, err = condition("name = " + strings.Repeat("x", 40<<10))
	require.ErrorContains(t, err, "The query is too long.")
}
