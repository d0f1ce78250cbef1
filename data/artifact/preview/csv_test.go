package preview

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func csvOf(n int) []byte {
	var b strings.Builder
	b.WriteString("\ufeffid,share,day,flag,note,note,\n")
	for i := range n {
		fmt.Fprintf(&b, "%d,%g,2026-01-%02d,%t,\"a, \"\"b\"\"\nline %d\",,x\n", n-i, float64(i)/4, i%28+1, i%2 == 0, i)
	}
	return []byte(b.String())
}

func TestCSV(t *testing.T) {
	t.Parallel()
	data := csvOf(100)
	got := mustRead(t, data, "csv", Query{Limit: 3, Statistics: true})
	require.Equal(t, []Column{
		{"id", Integer}, {"share", Float}, {"day", Date}, {"flag", Boolean}, {"note", String}, {"note (6)", String}, {"column 7", String},
	}, got.Columns)
	require.Equal(t, []any{int64(98), 0.5, time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC), true, "a, \"b\"\nline 2", nil, "x"}, got.Rows[2])
	require.EqualValues(t, -1, got.Total)
	require.EqualValues(t, 100, got.Statistics.Columns[0].Max)

	next := mustRead(t, data, "csv", Query{Limit: 2, From: *got.Next})
	require.Equal(t, int64(97), next.value(0, "id"))
	require.EqualValues(t, 3, next.At[0].Row)
	require.Equal(t, next.Rows, mustRead(t, data, "csv", Query{Limit: 2, From: Position{Row: 3}}).Rows, "a row without its byte")

	sorted := mustRead(t, data, "csv", Query{Limit: 2, Sort: "id", From: Position{Row: 10}})
	require.Equal(t, int64(11), sorted.value(0, "id"))
	require.Equal(t, "a, \"b\"\nline 89", sorted.value(0, "note"))

	filtered := mustRead(t, data, "csv", Query{Limit: 5, Filters: []Filter{{"day", Equal, "2026-01-02"}, {"note", Contains, "LINE 1"}}})
	require.Len(t, filtered.Rows, 1)
	require.Equal(t, int64(99), filtered.value(0, "id"))
}

func TestCSVMixed(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("n\n")
	for range sampleRows {
		b.WriteString("1\n")
	}
	b.WriteString("oops\n")
	got := mustRead(t, []byte(b.String()), "csv", Query{Limit: 1, Sort: "-n", Statistics: true})
	require.Equal(t, "oops", got.value(0, "n"))
	require.EqualValues(t, 1, got.Statistics.Columns[0].Other)
}

// TestCSVHostile: a quote that is never closed, a file without lines and one that is not text
// fail with a sentence, after reading about 1 MiB.
func TestCSVHostile(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x,y\n", 1<<20)
	for name, tt := range map[string]struct{ data, want string }{
		"empty":        {"", "The file is empty."},
		"no line ends": {strings.Repeat("x", 3<<20), "A row is longer than 1 MiB"},
		"open quote":   {"a,b\n\"" + long, "A row is longer than 1 MiB"},
		"not text":     {"\xff\xfe\x00\x01\n1\n", "not UTF-8 text"},
		"too many":     {strings.Repeat("a,", maxTableColumns+1) + "\n", "columns"},
		"wrong page":   {"a\n1\n", ""},
	} {
		_, err := Read(t.Context(), fileOf([]byte(tt.data)), "csv", Query{Limit: 5, Columns: 5, From: Position{Row: 9, Byte: 1 << 40}})
		if tt.want == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, tt.want, name)
		}
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	for _, f := range []Filter{{"a", Equal, "1"}, {`x:y\z`, AtLeast, "1:2"}, {"é ü", IsNull, ""}} {
		got, err := ParseFilters([]string{f.String()})
		require.NoError(t, err)
		require.Equal(t, []Filter{f}, got)
	}
	for _, text := range []string{"", "eq", "eq:", "like:a:b", ":a:b"} {
		_, err := ParseFilters([]string{text})
		require.Error(t, err, text)
	}
	_, err := Read(t.Context(), fileOf([]byte("n\n1\n")), "csv", Query{Columns: 1, Filters: []Filter{{"n", Less, "two"}}})
	require.ErrorContains(t, err, `"two" is not a valid value for column n of type Integer`)
	_, err = Read(t.Context(), fileOf([]byte("n\n1\n")), "csv", Query{Columns: 1, Sort: "m"})
	require.ErrorContains(t, err, `no column "m"`)
	_, err = ParsePosition("1.x")
	require.Error(t, err)
}
