package search_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/search"
)

func TestSuggestions(t *testing.T) {
	t.Parallel()
	for before, want := range map[string][]string{
		"opt":                          {"optimizer.name ", "optimizer.decay "},
		"inputs.opt":                   {"inputs.optimizer.name ", "inputs.optimizer.decay "},
		"outputs.acc":                  {"outputs.accuracy "},
		"lr > 1 and val":               {`"val loss" `},
		"metrics.loss.mi":              {},
		"loss.min":                     {"loss.min ", `"val loss.min" `},
		"ta":                           {"tag:", "state:", "started "},
		"no":                           {"note:", "not "},
		"lr ":                          {"> ", ">= ", "< ", "<= ", "= ", "!= ", "in ("},
		"since":                        {"since:"},
		"tag ":                         {"= ", "!= ", "~ ", "!~ ", "in ("},
		"state:can":                    {"cancelled "},
		"state in (failed, can":        {"cancelled"},
		"state in (failed":             {"failed"},
		"state in (failed ":            {", ", ") "},
		"since:7":                      {"7d "},
		"user:m":                       {"me "},
		"lr > 0.01 ":                   {"and ", "or "},
		"lr > 0.01 a":                  {"and ", "outputs.accuracy ", "accuracy ", `"acc(top5)" `},
		"lr > 0.01 and has:dataset an": {"and "},
		"unknown ":                     {},
	} {
		got := []string{}
		for _, s := range names().Suggest(search.At(before, names()), 3) {
			got = append(got, s.Text)
		}
		assert.Equal(t, want, got, before)
	}
}

// TestSuggestionsCanBeRead: what a reader takes from the list is a query.
func TestSuggestionsCanBeRead(t *testing.T) {
	t.Parallel()
	n := names()
	for _, name := range n.Suggest(search.At("", n), 100) {
		for _, op := range n.Suggest(search.At(name.Text, n), 100) {
			if op.Kind != search.WantOperator {
				continue
			}
			value := "1"
			if name.Field.Is(search.Time) {
				value = "7d"
			} else if name.Field.Is(search.Span) {
				value = "1h"
			} else if name.Field.Name == "log" {
				value = "CUDA"
			} else if name.Field.Words != nil {
				value = name.Field.Words[0]
			}
			if op.Label == "in" {
				value += ")"
			}
			_, err := search.Parse(name.Text+op.Text+value, search.Context{Names: n, Now: now})
			require.NoError(t, err, name.Text+op.Text+value)
		}
	}
}
