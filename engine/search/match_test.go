package search_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/search"
)

func TestRecordsMatch(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	digits := search.Record{"name": "uci-digits", "rows": 1797.0, "tags": []string{"gold", "images"}, "created": now.Add(-48 * time.Hour), "metadata.owner": "mei"}
	small := search.Record{"name": "toy", "rows": 10.0, "tags": []string{}, "created": now.Add(-30 * 24 * time.Hour)}
	names := search.NewRecordNames("dataset", []search.Record{digits, small})
	for query, want := range map[string][2]bool{
		"":                                  {true, true},
		"rows > 100":                        {true, false},
		"rows <= 10":                        {false, true},
		"name = toy":                        {false, true},
		"name != toy":                       {true, false},
		"name ~ DIGITS and tags = gold":     {true, false},
		"tags != gold":                      {false, true},
		"created > 7d":                      {true, false},
		"has:metadata.owner":                {true, false},
		"metadata.owner != x":               {true, false},
		"not (rows > 100) or name = 'x'":    {false, true},
		"name in (toy, uci-digits)":         {true, true},
		"images":                            {true, false},
		"name !~ digits and created < 2026": {false, false},
	} {
		e, err := search.Parse(query, search.Context{Names: names, Now: now})
		if query == "name !~ digits and created < 2026" {
			require.ErrorContains(t, err, "is not a time")
			continue
		}
		require.NoError(t, err, query)
		require.Equal(t, want, [2]bool{digits.Match(e), small.Match(e)}, query)
	}
	_, err := search.Parse("colour = red", search.Context{Names: names, Now: now})
	require.ErrorContains(t, err, `No dataset of this project has "colour"`)
}
