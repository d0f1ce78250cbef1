package drift_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/artifact/preview"
	"github.com/flowforge/flowforge/data/dataset/drift"
)

func profile(t *testing.T, csv string) preview.Profile {
	t.Helper()
	p, err := preview.ReadProfile(context.Background(), preview.File{ReaderAt: bytes.NewReader([]byte(csv)), Size: int64(len(csv))}, "csv", time.Minute)
	require.NoError(t, err)
	require.True(t, p.All)
	return p
}

// table makes rows of a normal number, a label from 0 to 9, a source and an ID.
func table(seed uint64, rows int, mean float64, sources ...string) string {
	r := rand.New(rand.NewPCG(seed, 0))
	var b strings.Builder
	b.WriteString("slant,label,source,id\n")
	for range rows {
		slant := fmt.Sprintf("%.4f", mean+10*r.NormFloat64())
		if r.IntN(100) == 0 {
			slant = ""
		}
		fmt.Fprintf(&b, "%s,%d,%s,w%d\n", slant, r.IntN(10), sources[r.IntN(len(sources))], r.Uint64())
	}
	return b.String()
}

func TestUnchangedDataHasNotMoved(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		for _, rows := range []int{40, 1000, 20_000} {
			r := drift.Compare(profile(t, table(seed, rows, 2, "form", "scan")), profile(t, table(seed+100, rows, 2, "form", "scan")))
			for _, c := range r.Columns {
				require.Equal(t, drift.Same, c.Verdict, "%d rows, seed %d: %+v", rows, seed, c)
			}
		}
	}
}

func TestMovedColumnsAreFound(t *testing.T) {
	t.Parallel()
	r := drift.Compare(profile(t, table(1, 20_000, 2, "form", "scan")), profile(t, table(2, 21_000, 8, "form", "scan", "tablet")))
	require.Equal(t, int64(20_000), r.RowsBefore)
	require.Equal(t, int64(21_000), r.RowsNow)
	slant, label, source, id := r.Find("slant"), r.Find("label"), r.Find("source"), r.Find("id")
	require.Equal(t, drift.Moved, slant.Verdict, "%+v", slant)
	require.Equal(t, drift.Deciles, slant.Method)
	require.InDelta(t, 0.36, *slant.PSI, 0.06) // two normal distributions: (shift/deviation)²
	require.InDelta(t, 0.236, *slant.KS, 0.03) // 2·Φ(0.3) - 1
	require.Contains(t, slant.Note, " to 7.9")
	require.Equal(t, drift.Same, label.Verdict)
	require.Equal(t, drift.Values, label.Method)
	require.Len(t, label.Parts, 10)
	require.Equal(t, drift.Moved, source.Verdict)
	require.Contains(t, source.Note, "tablet is new: 33")
	require.Equal(t, drift.Same, id.Verdict, "values that all differ are one part: %+v", id)
}

func TestMissingValuesAndSchemaAreCompared(t *testing.T) {
	t.Parallel()
	rows := func(header string, row func(i int) string) string {
		var b strings.Builder
		b.WriteString(header + "\n")
		for i := range 2000 {
			b.WriteString(row(i) + "\n")
		}
		return b.String()
	}
	before := profile(t, rows("age,when,city,old", func(i int) string { return fmt.Sprintf("%d.5,2026-01-%02d,a,%d", i, 1+i%28, i) }))
	now := profile(t, rows("age,when,city,new", func(i int) string {
		age := fmt.Sprintf("%d.5", i)
		if i%2 == 0 {
			age = ""
		}
		return fmt.Sprintf("%s,2026-03-%02d,%d,%d", age, 1+i%28, i, i)
	}))
	r := drift.Compare(before, now)
	require.Equal(t, drift.Moved, r.Find("age").Verdict)
	require.Contains(t, r.Find("age").Note, "missing is new: 50.0 % of the rows")
	require.Equal(t, drift.Moved, r.Find("when").Verdict)
	require.InDelta(t, 1, *r.Find("when").KS, 0.001)
	require.Equal(t, drift.Retyped, r.Find("city").Verdict)
	require.Equal(t, "The type is Integer instead of String.", r.Find("city").Note)
	require.Equal(t, drift.Added, r.Find("new").Verdict)
	require.Equal(t, drift.Removed, r.Find("old").Verdict)
	require.Equal(t, "old", r.Columns[len(r.Columns)-1].Name)
	require.Equal(t, 2, r.Count(drift.Moved))
}

// TestInvalidValuesMove: numbers that became NaN are a change, whether some or all of them did.
func TestInvalidValuesMove(t *testing.T) {
	t.Parallel()
	column := func(value func(i int) string) preview.Profile {
		var b strings.Builder
		b.WriteString("x\n")
		for i := range 2000 {
			b.WriteString(value(i) + "\n")
		}
		return profile(t, b.String())
	}
	numbers := column(func(i int) string { return fmt.Sprintf("%d.5", i) })
	half := column(func(i int) string {
		if i%2 == 0 {
			return "NaN"
		}
		return fmt.Sprintf("%d.5", i)
	})
	none := column(func(int) string { return "NaN" })
	for _, now := range []preview.Profile{half, none} {
		c := drift.Compare(numbers, now).Columns[0]
		require.Equal(t, drift.Moved, c.Verdict, "%+v", c)
		require.Contains(t, c.Note, "invalid is new: ")
	}
	require.Equal(t, drift.Same, drift.Compare(half, half).Columns[0].Verdict)
	require.Contains(t, drift.Compare(numbers, half).Columns[0].Note, "invalid is new: 50.0 % of the rows")
}

func TestTablesWithoutValuesAreNotCompared(t *testing.T) {
	t.Parallel()
	r := drift.Compare(profile(t, "a,b\n"), profile(t, "a,b\n1,2\n"))
	require.Equal(t, 0, r.Count(drift.Same, drift.Moved, drift.Little))
	for _, c := range r.Columns {
		require.Nil(t, c.PSI)
	}
}

func TestConstantsCanMove(t *testing.T) {
	t.Parallel()
	constant := func(v string) preview.Profile { return profile(t, "x\n"+strings.Repeat(v+"\n", 500)) }
	require.Equal(t, drift.Same, drift.Compare(constant("3"), constant("3")).Columns[0].Verdict)
	require.Equal(t, drift.Moved, drift.Compare(constant("3"), constant("4")).Columns[0].Verdict)
}
