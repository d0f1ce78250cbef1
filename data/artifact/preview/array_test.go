package preview

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
)

// npyOf is a NumPy file with a description and elements.
func npyOf(t testing.TB, descr, shape string, fortran bool, elements any) []byte {
	t.Helper()
	order := "False"
	if fortran {
		order = "True"
	}
	text := fmt.Sprintf("{'descr': %s, 'fortran_order': %s, 'shape': %s, }", descr, order, shape)
	out := append([]byte("\x93NUMPY\x01\x00"), binary.LittleEndian.AppendUint16(nil, uint16(len(text)))...)
	body := bytes.NewBuffer(append(out, text...))
	require.NoError(t, binary.Write(body, binary.LittleEndian, elements))
	return body.Bytes()
}

func readArray(t *testing.T, data []byte, format string, q ArrayQuery) Array {
	t.Helper()
	a, err := ReadArray(t.Context(), fileOf(data), format, q)
	require.NoError(t, err)
	return a
}

func floats(n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(i)
	}
	return out
}

// TestArraySlices: a slice is the plane of the contiguous axes at an index of the others.
func TestArraySlices(t *testing.T) {
	t.Parallel()
	a := readArray(t, npyOf(t, "'<f4'", "(3, 30, 20)", false, floats(1800)), "npy", ArrayQuery{Index: []int64{2, 9, 9}, Row: 25, Column: 15})
	require.Equal(t, "float32", a.DType)
	require.Equal(t, []int64{2, 0, 0}, a.Index)
	require.Equal(t, []int64{30, 20}, []int64{a.Rows, a.Columns})
	require.Len(t, a.Values, 5)
	require.Equal(t, []any{1715.0, 1716.0, 1717.0, 1718.0, 1719.0}, a.Values[0])
	require.Equal(t, SliceStatistics{Min: 1200, Max: 1799, Mean: a.Statistics.Mean, Count: 600, Complete: true}, *a.Statistics)
	require.InDelta(t, 1499.5, a.Statistics.Mean, 1e-6)
	require.Len(t, a.Heat.Cells, 30)
	require.InDelta(t, 1221, a.Heat.Cells[1][1], 0)

	f := readArray(t, npyOf(t, "'<f4'", "(30, 20, 3)", true, floats(1800)), "npy", ArrayQuery{Index: []int64{0, 0, 1}, Row: 1, Column: 2})
	require.Equal(t, []int{0, 1}, []int{f.RowAxis, f.ColumnAxis})
	require.Equal(t, 661.0, f.Values[0][0], "600 + 1 + 2 × 30")
	require.InDelta(t, 661, f.Heat.Cells[1][2], 0)

	vector := readArray(t, npyOf(t, "'<f4'", "(500,)", false, floats(500)), "npy", ArrayQuery{})
	require.EqualValues(t, 500, vector.Rows)
	require.Len(t, vector.Heat.Cells, 1)
	require.Len(t, vector.Heat.Cells[0], 125, "each cell is the mean of 4 values")
	require.InDelta(t, 1.5, vector.Heat.Cells[0][0], 0)
	scalar := readArray(t, npyOf(t, "'<f4'", "()", false, floats(1)), "npy", ArrayQuery{})
	require.Equal(t, [][]any{{0.0}}, scalar.Values)
}

func TestArrayTypes(t *testing.T) {
	t.Parallel()
	for descr, tt := range map[string]struct {
		name string
		raw  any
		want any
	}{
		"'|b1'":                        {"bool", []byte{1}, true},
		"'|i1'":                        {"int8", []int8{-5}, int64(-5)},
		"'<i8'":                        {"int64", []int64{math.MinInt64}, int64(math.MinInt64)},
		"'<u8'":                        {"uint64", []uint64{math.MaxUint64}, uint64(math.MaxUint64)},
		"'>i2'":                        {"int16 (big-endian)", []byte{0xff, 0xfe}, int64(-2)},
		"'<f2'":                        {"float16", []uint16{0x3c00}, 1.0},
		"'<f8'":                        {"float64", []float64{math.Pi}, math.Pi},
		"'<c8'":                        {"complex64", []float32{1, -2}, "1-2j"},
		"'<M8[ns]'":                    {"datetime64[ns]", []int64{5}, int64(5)},
		"'|S3'":                        {"bytes24", []byte("ab\x00"), "ab"},
		"'<U2'":                        {"text of 2 characters", []uint32{'ä', 0}, "ä"},
		"'|O'":                         {"object", []byte("cos\nsystem\n"), nil},
		"[('a', '<f4'), ('b', '|S2')]": {"record {a: float32, b: bytes16}", []byte("123456"), nil},
		"'|V4'":                        {"|V4", []byte("1234"), nil},
		"'<f16'":                       {"<f16", make([]byte, 16), nil},
	} {
		a := readArray(t, npyOf(t, descr, "(1,)", false, tt.raw), "npy", ArrayQuery{})
		require.Equal(t, tt.name, a.DType, descr)
		if tt.want == nil {
			require.NotEmpty(t, a.Note, descr)
			require.Empty(t, a.Values)
			continue
		}
		require.Equal(t, [][]any{{tt.want}}, a.Values, descr)
	}
	odd := readArray(t, npyOf(t, "'<f8'", "(4,)", false, []float64{math.NaN(), math.Inf(1), 2, math.MaxFloat64}), "npy", ArrayQuery{})
	require.EqualValues(t, 2, odd.Statistics.Other)
	require.False(t, math.IsInf(odd.Statistics.Mean, 0))
	require.Contains(t, readArray(t, npyOf(t, "'<f8'", "(0, 3)", false, []float64{}), "npy", ArrayQuery{}).Note, "no elements")
}

// TestArrayOfALargeFile: of an array of 4 TB that is a hole, only the slice is read.
func TestArrayOfALargeFile(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/large.npy"
	require.NoError(t, os.WriteFile(path, npyOf(t, "'<f4'", "(1048576, 1024, 1024)", false, []float32{}), 0o600))
	const size = 1<<42 + 4096
	if err := os.Truncate(path, size); err != nil {
		require.NoError(t, os.Truncate(path, 1<<33)) // some file systems have no larger files
	}
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	info, err := file.Stat()
	require.NoError(t, err)
	counted := &counting{ReaderAt: file}
	a, err := ReadArray(t.Context(), File{counted, info.Size()}, "npy", ArrayQuery{Index: []int64{1000}})
	if info.Size() < size {
		require.ErrorContains(t, err, "is truncated")
		return
	}
	require.NoError(t, err)
	require.True(t, a.Statistics.Complete)
	require.Less(t, counted.read, int64(5<<20))
}

func npzOf(t testing.TB, method uint16, arrays map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for name, data := range arrays {
		e, err := w.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: method})
		require.NoError(t, err)
		_, err = e.Write(data)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func TestNPZ(t *testing.T) {
	t.Parallel()
	arrays := map[string][]byte{"a": npyOf(t, "'<f4'", "(2, 3)", false, floats(6)), "b": npyOf(t, "'<f4'", "(4,)", false, floats(4)), "c": []byte("no array")}
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		a := readArray(t, npzOf(t, method, arrays), "npz", ArrayQuery{Member: "b"})
		require.Equal(t, []int64{4}, a.Shape)
		require.Len(t, a.Members, 3)
		for _, m := range a.Members {
			require.Equal(t, m.Name == "c", m.Problem != "")
		}
		_, err := ReadArray(t.Context(), fileOf(npzOf(t, method, arrays)), "npz", ArrayQuery{Member: "x"})
		require.ErrorContains(t, err, `no array "x"`)
	}
	bomb := npzOf(t, zip.Deflate, map[string][]byte{"a": npyOf(t, "'|u1'", "(50000000,)", false, make([]byte, 50_000_000))})
	require.Less(t, len(bomb), 100_000)
	_, err := ReadArray(t.Context(), fileOf(bomb), "npz", ArrayQuery{})
	require.ErrorContains(t, err, "compressed and larger than 32 MiB")
}

// TestArrayHostile: descriptions that do not fit the file are refused with a sentence.
func TestArrayHostile(t *testing.T) {
	t.Parallel()
	good := npyOf(t, "'<f4'", "(3,)", false, floats(3))
	for name, data := range map[string][]byte{
		"empty":       {},
		"cut header":  good[:20],
		"cut":         good[:len(good)-1],
		"lying shape": npyOf(t, "'<f4'", "(4611686018427387904, 4)", false, floats(3)),
		"overflow":    npyOf(t, "'<f8'", "(1099511627776, 1099511627776)", false, floats(3)),
		"negative":    npyOf(t, "'<f8'", "(-1,)", false, floats(3)),
		"deep":        npyOf(t, strings.Repeat("[", 60_000), "(1,)", false, floats(3)),
		"no dict":     npyOf(t, "__import__('os').system('x')", "(1,)", false, floats(3)),
		"huge":        append([]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff"), good...),
		"dimensions":  npyOf(t, "'<f4'", "("+strings.Repeat("1,", 100)+")", false, floats(1)),
	} {
		_, err := ReadArray(t.Context(), fileOf(data), "npy", ArrayQuery{Row: math.MaxInt64, Column: -1, Index: []int64{math.MaxInt64}})
		require.True(t, apperr.Is(err, apperr.Invalid), "%s: %v", name, err)
	}
}

func FuzzArray(f *testing.F) {
	f.Add(npyOf(f, "'<f4'", "(2, 3, 2)", true, floats(12)), int64(1))
	f.Add(npyOf(f, "[('a', '<f4')]", "(1,)", false, floats(1)), int64(0))
	f.Add(npyOf(f, "'<U2'", "(1,)", false, floats(2)), int64(-1))
	f.Add(npzOf(f, zip.Deflate, map[string][]byte{"a": npyOf(f, "'<f4'", "(3,)", false, floats(3))}), int64(9))
	f.Fuzz(func(t *testing.T, data []byte, n int64) {
		for _, format := range []string{"npy", "npz"} {
			a, err := ReadArray(t.Context(), fileOf(data), format, ArrayQuery{Index: []int64{n, n, n}, Row: n, Column: n})
			if err != nil {
				require.True(t, apperr.Is(err, apperr.Invalid), "%v", err)
				continue
			}
			require.LessOrEqual(t, len(a.Values), ArrayRows)
		}
	})
}
