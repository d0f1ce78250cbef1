package preview_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/artifact/preview"
)

func profileOf(t *testing.T, csv string) preview.Profile {
	t.Helper()
	p, err := preview.ReadProfile(context.Background(), preview.File{ReaderAt: bytes.NewReader([]byte(csv)), Size: int64(len(csv))}, "csv", time.Minute)
	require.NoError(t, err)
	return p
}

func TestProfilesDescribeAllRows(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("n,label,id,day\n")
	const rows = 150_000 // more than the statistics of a preview read
	for i := range rows {
		n := fmt.Sprint(i)
		if i%10 == 0 {
			n = ""
		}
		fmt.Fprintf(&b, "%s,%c,u%d,2026-01-%02d\n", n, 'a'+rune(i%3), i, 1+i%28)
	}
	p := profileOf(t, b.String())
	require.True(t, p.All)
	require.EqualValues(t, rows, p.Rows)
	n, label, id, day := p.Columns[0], p.Columns[1], p.Columns[2], p.Columns[3]
	require.EqualValues(t, rows/10, n.Nulls)
	require.EqualValues(t, rows-rows/10, n.Count)
	require.InDelta(t, rows/2, *n.Mean, 1)
	require.InDelta(t, rows/3.4641, *n.Deviation, 5)
	require.Equal(t, "1", n.Min)
	require.Equal(t, "149999", n.Max)
	require.EqualValues(t, preview.ProfileSample, n.Sampled)
	require.InDelta(t, rows/2, n.Quantiles[len(n.Quantiles)/2], rows*0.03)
	require.True(t, label.Complete)
	require.Equal(t, []preview.TopValue{{Value: "a", Count: 50_000}, {Value: "b", Count: 50_000}, {Value: "c", Count: 50_000}}, label.Top)
	require.True(t, id.Estimated)
	require.InEpsilon(t, rows, id.Distinct, 0.08)
	require.Empty(t, id.Top, "no value is frequent")
	require.Equal(t, preview.Date, day.Type)
	require.EqualValues(t, 28, day.Distinct)
	require.InDelta(t, float64(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix()), day.Quantiles[0], 1)
	require.Equal(t, p, profileOf(t, b.String()), "equal files have equal profiles")
}

func TestProfilesCountFrequentValuesOfManyWithinTheirError(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("v\n")
	for i := range 60_000 {
		if i%4 == 0 {
			b.WriteString("often\n")
		} else {
			fmt.Fprintf(&b, "u%d\n", i)
		}
	}
	c := profileOf(t, b.String()).Columns[0]
	require.False(t, c.Complete)
	require.Equal(t, "often", c.Top[0].Value)
	require.LessOrEqual(t, c.Top[0].Count, int64(15_000))
	require.GreaterOrEqual(t, c.Top[0].Count+c.Error, int64(15_000))
}

func TestProfilesKeepWhatIsNotOfTheTypeApart(t *testing.T) {
	t.Parallel()
	p := profileOf(t, "x\n1.5\n2.5\n"+strings.Repeat("3\n", 1000)+"NaN\nInf\nword\n")
	c := p.Columns[0]
	require.EqualValues(t, 3, c.Other)
	require.EqualValues(t, 1002, c.Count)
	require.Equal(t, "3", c.Max)
}

func TestProfilesSayWhatTheyLeaveOut(t *testing.T) {
	t.Parallel()
	names := make([]string, preview.ProfileColumns+5)
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i)
	}
	p := profileOf(t, strings.Join(names, ",")+"\n")
	require.Len(t, p.Columns, preview.ProfileColumns)
	require.Equal(t, len(names), p.AllColumns)

	csv := "a\n" + strings.Repeat("1\n", 10_000)
	part, err := preview.ReadProfile(context.Background(), preview.File{ReaderAt: strings.NewReader(csv), Size: int64(len(csv))}, "csv", 0)
	require.NoError(t, err)
	require.False(t, part.All)
	require.Less(t, part.Rows, int64(10_000))
}
