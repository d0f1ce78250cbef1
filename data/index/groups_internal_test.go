package index

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/search"
)

// TestTheConditionOfAGroupCanBeRead: also for durations of weeks and very small ones.
func TestTheConditionOfAGroupCanBeRead(t *testing.T) {
	t.Parallel()
	names := search.NewNames(search.FactFields())
	for _, field := range search.FactFields() {
		if !field.Is(search.Span) {
			continue
		}
		for value, want := range map[float64]string{1.2e6: "1200000s", 90: "90s", 0.25: "0.25s", 2.5e-7: "0.00000025s"} {
			where := Group{Value: value}.Where(Column{field: field})
			require.Equal(t, field.Quoted()+" = "+want, where)
			e, err := search.Parse(where, search.Context{Names: names, Now: time.Now()})
			require.NoError(t, err, where)
			require.InDelta(t, value, e.(search.Compare).Values[0].Number, 1e-12)
		}
		return
	}
	t.Fatal("no field has durations")
}
