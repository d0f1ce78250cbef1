package preview

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/stretchr/testify/require"
)

// trial is a row of the tests: flat, optional, repeated and nested columns.
type trial struct {
	ID      int64     `parquet:"id,delta"`
	Rate    float64   `parquet:"rate"`
	Share   *float32  `parquet:"share,optional,split"`
	Name    string    `parquet:"name,dict"`
	Path    string    `parquet:"path,delta"`
	Flag    bool      `parquet:"flag"`
	At      time.Time `parquet:"at,timestamp(microsecond)"`
	Scores  []int32   `parquet:"scores,list"`
	Machine struct {
		Cores int32 `parquet:"cores"`
	} `parquet:"machine"`
	Raw []byte `parquet:"raw"`
}

func trials(n int) []trial {
	rows := make([]trial, n)
	for i := range rows {
		rows[i] = trial{
			ID: int64(i * 3), Rate: float64(i) / 8, Name: fmt.Sprintf("group-%d", i%7), Path: fmt.Sprintf("s3://bucket/%05d", i),
			Flag: i%3 == 0, At: time.Unix(1_700_000_000+int64(i), 0).UTC(), Raw: []byte{byte(i), 0xff},
		}
		if i%4 != 0 {
			share := float32(i) / 2
			rows[i].Share = &share
		}
		for j := range i % 5 {
			rows[i].Scores = append(rows[i].Scores, int32(j*i))
		}
		rows[i].Machine.Cores = int32(i % 16)
	}
	return rows
}

func fileOf(data []byte) File { return File{ReaderAt: bytes.NewReader(data), Size: int64(len(data))} }

func parquetOf(t *testing.T, rows []trial, options ...parquet.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, parquet.Write(&b, rows, append([]parquet.WriterOption{parquet.MaxRowsPerRowGroup(400), parquet.PageBufferSize(900)}, options...)...))
	return b.Bytes()
}

func mustRead(t *testing.T, data []byte, format string, q Query) Table {
	t.Helper()
	if q.Columns == 0 {
		q.Columns = MaxColumns
	}
	out, err := Read(t.Context(), fileOf(data), format, q)
	require.NoError(t, err)
	return out
}

func (t Table) value(row int, column string) any {
	for i, c := range t.Shown {
		if t.Columns[c].Name == column {
			return t.Rows[row][i]
		}
	}
	panic("no column " + column)
}

// TestParquetValues: all values of all rows are those that were written, with each codec, both
// versions of pages and every encoding that the library writes.
func TestParquetValues(t *testing.T) {
	t.Parallel()
	rows := trials(1000)
	for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Zstd, &parquet.Lz4Raw} {
		for _, version := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s %d", codec, version), func(t *testing.T) {
				t.Parallel()
				data := parquetOf(t, rows, parquet.Compression(codec), parquet.DataPageVersion(version))
				for from := int64(0); from < 1000; from += 500 {
					got := mustRead(t, data, "parquet", Query{From: Position{Row: from}, Limit: 500})
					require.EqualValues(t, 1000, got.Total)
					require.Len(t, got.Rows, 500)
					require.Equal(t, from == 0, got.Next != nil)
					for i := range got.Rows {
						requireTrial(t, rows[int(from)+i], got, i)
					}
				}
				for _, from := range []int64{1, 399, 400, 733, 999} { // within row groups and pages
					got := mustRead(t, data, "parquet", Query{From: Position{Row: from}, Limit: 1})
					requireTrial(t, rows[from], got, 0)
				}
			})
		}
	}
}

func requireTrial(t *testing.T, want trial, got Table, i int) {
	t.Helper()
	require.Equal(t, want.ID, got.value(i, "id"))
	require.InDelta(t, want.Rate, got.value(i, "rate"), 0)
	if want.Share == nil {
		require.Nil(t, got.value(i, "share"))
	} else {
		require.InDelta(t, float64(*want.Share), got.value(i, "share"), 0)
	}
	require.Equal(t, want.Name, got.value(i, "name"))
	require.Equal(t, want.Path, got.value(i, "path"))
	require.Equal(t, want.Flag, got.value(i, "flag"))
	require.Equal(t, want.At, got.value(i, "at"))
	require.EqualValues(t, want.Machine.Cores, got.value(i, "machine.cores"))
	require.Equal(t, fmt.Sprintf("0x%02xff", want.Raw[0]), got.value(i, "raw"))
	list := "["
	for j, s := range want.Scores {
		if j > 0 {
			list += ", "
		}
		list += fmt.Sprint(s)
	}
	require.Equal(t, list+"]", got.value(i, "scores"))
}

func TestParquetTypes(t *testing.T) {
	t.Parallel()
	got := mustRead(t, parquetOf(t, trials(3)), "parquet", Query{Limit: 1})
	types := map[string]Type{}
	for _, c := range got.Columns {
		types[c.Name] = c.Type
	}
	require.Equal(t, map[string]Type{
		"id": Integer, "rate": Float, "share": Float, "name": String, "path": String, "flag": Boolean, "at": Datetime,
		"scores": List, "machine.cores": Integer, "raw": Binary,
	}, types)
}

func TestParquetSortAndFilter(t *testing.T) {
	t.Parallel()
	data := parquetOf(t, trials(1000))
	got := mustRead(t, data, "parquet", Query{Limit: 2, Sort: "-id"})
	require.Equal(t, []Position{{Row: 999}, {Row: 998}}, got.At)
	require.EqualValues(t, 2997, got.value(0, "id"))
	require.True(t, got.Complete)
	require.Equal(t, &Position{Row: 2}, got.Next)

	filters, err := ParseFilters([]string{"eq:name:group-3", "ge:rate:100", "null:share:"})
	require.NoError(t, err)
	got = mustRead(t, data, "parquet", Query{Limit: 500, Filters: filters})
	var want []int64
	for _, r := range trials(1000) {
		if r.Name == "group-3" && r.Rate >= 100 && r.Share == nil {
			want = append(want, r.ID)
		}
	}
	require.NotEmpty(t, want)
	var ids []int64
	for i := range got.Rows {
		ids = append(ids, got.value(i, "id").(int64))
	}
	require.Equal(t, want, ids)
	require.EqualValues(t, 1000, got.Scanned)
	require.True(t, got.Complete)

	nulls := mustRead(t, data, "parquet", Query{Limit: 1, Sort: "share", From: Position{Row: 749}})
	require.NotNil(t, nulls.value(0, "share"), "nulls are last")
	nulls = mustRead(t, data, "parquet", Query{Limit: 1, Sort: "-share", From: Position{Row: 750}})
	require.Nil(t, nulls.value(0, "share"), "nulls are last")
}

// TestPaging: the pages of a filter and of an order contain every row once.
func TestPaging(t *testing.T) {
	t.Parallel()
	data := parquetOf(t, trials(1000))
	for _, q := range []Query{{Limit: 7}, {Limit: 7, Sort: "-rate"}, {Limit: 7, Filters: []Filter{{Column: "name", Op: NotEqual, Value: "group-1"}}}} {
		seen := map[int64]int{}
		for page := &(Position{}); page != nil; {
			q.From = *page
			got := mustRead(t, data, "parquet", q)
			for _, at := range got.At {
				seen[at.Row]++
			}
			page = got.Next
		}
		want := 1000
		if len(q.Filters) > 0 {
			want = 1000 - 143
		}
		require.Len(t, seen, want)
		for row, n := range seen {
			require.Equal(t, 1, n, row)
		}
	}
}

func TestStatistics(t *testing.T) {
	t.Parallel()
	got := mustRead(t, parquetOf(t, trials(1000)), "parquet", Query{Limit: 1, Statistics: true})
	s := got.Statistics
	require.EqualValues(t, 1000, s.Rows)
	require.True(t, s.All)
	by := map[string]Summary{}
	for i, c := range got.Shown {
		by[got.Columns[c].Name] = s.Columns[i]
	}
	require.EqualValues(t, 250, by["share"].Nulls)
	require.EqualValues(t, 750, by["share"].Count)
	require.Equal(t, 7, by["name"].Distinct)
	require.Len(t, by["name"].Top, 7)
	require.Equal(t, Value{"group-0", 143}, by["name"].Top[0])
	require.InDelta(t, 999.0/16, by["rate"].Mean, 1e-9)
	require.EqualValues(t, 2997, by["id"].Max)
	require.Equal(t, 1000, by["id"].Distinct)
	require.False(t, by["id"].More)
	var total int64
	for _, bin := range by["rate"].Bins {
		require.EqualValues(t, 50, bin.Count)
		total += bin.Count
	}
	require.EqualValues(t, 1000, total)
}

// counting counts the bytes that are read.
type counting struct {
	io.ReaderAt

	read int64
}

func (c *counting) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, at)
	c.read += int64(n)
	return n, err //nolint:wrapcheck // io.EOF is compared by readers
}

// TestParquetReadsRanges: the first page of a wide, long file reads a small part of it.
func TestParquetReadsRanges(t *testing.T) {
	t.Parallel()
	data := parquetOf(t, trials(60_000), parquet.MaxRowsPerRowGroup(20_000), parquet.PageBufferSize(8<<10), parquet.Compression(&parquet.Uncompressed))
	c := &counting{ReaderAt: bytes.NewReader(data)}
	_, err := Read(t.Context(), File{ReaderAt: c, Size: int64(len(data))}, "parquet", Query{Limit: 50, Columns: 20})
	require.NoError(t, err)
	require.Less(t, c.read, int64(len(data))/5)
}

// TestParquetHostile: damaged and hostile files fail with a sentence, within bounds.
func TestParquetHostile(t *testing.T) {
	t.Parallel()
	good := parquetOf(t, trials(30), parquet.Compression(&parquet.Zstd))
	q := Query{Limit: 50, Columns: 20, Statistics: true, Sort: "-rate"}
	for name, data := range map[string][]byte{
		"empty": {}, "short": []byte("PAR1"), "text": []byte("hello, this is no table"), "cut": good[:len(good)/2],
		"encrypted": []byte("PAR1\x00\x00\x00\x00PARE"), "huge footer": []byte("PAR1\xff\xff\xff\xffPAR1"), "long footer": []byte("PAR1\x00\xff\x00\x00PAR1"),
		"no metadata": []byte("PAR1\x00\x01\x00\x00\x00PAR1"), "long list": append(append([]byte("PAR1"), 0x29, 0xfc, 0xff, 0xff, 0xff, 0x7f), []byte("\x06\x00\x00\x00PAR1")...),
	} {
		_, err := Read(t.Context(), fileOf(data), "parquet", q)
		require.ErrorContains(t, err, ".", name)
		t.Log(name, err)
	}
	for i := 0; i < len(good); i += 3 {
		data := bytes.Clone(good)
		data[i] ^= 0x55
		_, _ = Read(t.Context(), fileOf(data), "parquet", q) // no panic, no endless loop
	}
}

// TestParquetBomb: a page that is larger than its header says is refused before it is unpacked.
func TestParquetBomb(t *testing.T) {
	t.Parallel()
	for _, codec := range []compress.Codec{&parquet.Zstd, &parquet.Gzip, &parquet.Snappy, &parquet.Lz4Raw} {
		packed, err := codec.Encode(nil, make([]byte, 16<<20))
		require.NoError(t, err)
		_, err = decompress(codec.CompressionCodec(), packed, 1000)
		require.Error(t, err, codec)
	}
}

func TestHybridBounds(t *testing.T) {
	t.Parallel()
	h := newHybrid([]byte{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1}, 1) // one run of 2^62 numbers
	v, err := h.next()
	require.NoError(t, err)
	require.EqualValues(t, 1, v)
	require.NoError(t, h.skip(math.MaxInt32))
	_, err = newHybrid([]byte{0xff}, 3).next()
	require.Error(t, err)
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Read(ctx, fileOf(parquetOf(t, trials(5000))), "parquet", Query{Limit: 5, Columns: 5, Sort: "id"})
	require.Error(t, err)
}

func FuzzParquet(f *testing.F) {
	var b bytes.Buffer
	if err := parquet.Write(&b, trials(20), parquet.Compression(&parquet.Snappy)); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(_ *testing.T, data []byte) {
		_, _ = Read(context.Background(), fileOf(data), "parquet", Query{Limit: 10, Columns: 10, Statistics: true, Sort: "rate"})
	})
}
