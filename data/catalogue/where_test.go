package catalogue

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/typeregistry"
)

func TestEntriesAreFoundByMetadataAndMetrics(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	for version, facts := range map[string]Facts{
		"1": {Metadata: map[string]any{"accuracy": 0.97, "author": "Mia"}}, "2": {Metrics: map[string]float64{"accuracy": 0.91}}, "3": {},
	} {
		_, _, err := s.Register(ctx, Entry{Kind: typeregistry.KindModel, Name: "net", Version: version, Framework: "torch", Tags: []string{"all", "v" + version}, Facts: facts})
		require.NoError(t, err)
	}
	for query, want := range map[string]int{
		"metadata.accuracy >= 0.9": 2, "metadata.accuracy > 0.95 framework=torch": 1, "metadata.author ~ mi": 1, "tag:v3": 1, "not has:metadata.accuracy": 1, "ne": 3,
		"not metadata.accuracy > 0.95": 2, "not not metadata.author > 5": 0, "not metadata.author > 5": 3, "not (metadata.author > 5 or tag:v3)": 2, "not (ne not tag:v3)": 1, "version in (1, 3)": 2,
		"tag != v3": 2, "tag != all": 0, "tag != none": 3, "metadata.author != Mia": 0, "metadata.author != Ada": 1, "metadata.accuracy != 0.97": 1, "metadata.author != 5": 0,
	} {
		page, err := s.List(ctx, Filter{Kind: typeregistry.KindModel, Where: query})
		require.NoError(t, err, query)
		require.Len(t, page.Entries, want, query)
	}
	_, err := s.List(ctx, Filter{Kind: typeregistry.KindModel, Where: "accuracy > " + strings.Repeat("1", 9)})
	require.Equal(t, "where", apperr.FieldsOf(err)[0].Path)
}
