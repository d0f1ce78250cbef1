package preview

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
)

func readModel(t *testing.T, data []byte, format string) Model {
	t.Helper()
	m, err := ReadModel(t.Context(), fileOf(data), format)
	require.NoError(t, err)
	return m
}

func safetensorsOf(header string, data int) []byte {
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(out, header...), make([]byte, data)...)
}

func TestSafetensors(t *testing.T) {
	t.Parallel()
	data := safetensorsOf(`{"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[3],"data_offsets":[24,30]},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}`, 30)
	require.Equal(t, "safetensors", Format(fileOf(data), "model", ""))
	m := readModel(t, data, "safetensors")
	require.EqualValues(t, 9, m.Parameters)
	require.Equal(t, []Tensor{{"a", "F32", []int64{2, 3}, 24}, {"b", "BF16", []int64{3}, 6}}, m.Tensors)
	require.Equal(t, []ModelFact{{"format", "pt"}}, m.Metadata)
	require.Contains(t, readModel(t, data[:len(data)-1], "safetensors").Problem, "ends before some of its tensors")
	for name, bad := range map[string][]byte{
		"empty": {}, "cut": data[:20], "lying size": append(bytes.Repeat([]byte{0xff}, 8), data...), "no JSON": safetensorsOf("{", 0),
		"shape": safetensorsOf(`{"a":{"dtype":"F32","shape":"x","data_offsets":[0,0]}}`, 0),
		"deep":  safetensorsOf(`{"a":`+strings.Repeat("[", 100_000)+`}`, 0),
	} {
		_, err := ReadModel(t.Context(), fileOf(bad), "safetensors")
		require.True(t, apperr.Is(err, apperr.Invalid), "%s: %v", name, err)
	}
	impossible := readModel(t, safetensorsOf(`{"a":{"dtype":"F32","shape":[4611686018427387904,4611686018427387904],"data_offsets":[0,0]}}`, 0), "safetensors")
	require.Zero(t, impossible.Parameters)
}

// pb writes fields of protocol buffers.
func pb(fields ...any) []byte {
	var out []byte
	for i := 0; i < len(fields); i += 2 {
		number := uint64(fields[i].(int))
		switch v := fields[i+1].(type) {
		case int:
			out = binary.AppendUvarint(binary.AppendUvarint(out, number<<3), uint64(v))
		case string:
			out = append(binary.AppendUvarint(binary.AppendUvarint(out, number<<3|2), uint64(len(v))), v...)
		case []byte:
			out = append(binary.AppendUvarint(binary.AppendUvarint(out, number<<3|2), uint64(len(v))), v...)
		}
	}
	return out
}

func onnxOf() []byte {
	dim := func(v any) []byte {
		if n, ok := v.(int); ok {
			return pb(1, n)
		}
		return pb(2, v)
	}
	value := func(name string, dims ...any) []byte {
		var shape []byte
		for _, d := range dims {
			shape = append(shape, pb(1, dim(d))...)
		}
		return pb(1, name, 2, pb(1, pb(1, 1, 2, shape)))
	}
	graph := pb(
		1, pb(1, "x", 4, "Gemm"), 1, pb(4, "Relu"), 1, pb(4, "Gemm"), 2, "main",
		5, pb(1, 10, 1, 64, 2, 1, 8, "w", 9, make([]byte, 2560)), 5, pb(1, []byte{10}, 2, 16, 8, "b"),
		11, value("input", "batch", 64), 11, value("w", 10, 64), 12, value("output", "batch", 10),
	)
	return pb(1, 9, 2, "pytorch", 3, "2.5", 8, pb(2, 17), 7, graph, 14, pb(1, "author", 2, "mia"))
}

func TestONNX(t *testing.T) {
	t.Parallel()
	m := readModel(t, onnxOf(), "onnx")
	require.Equal(t, []ModelValue{{"input", "float32 [batch, 64]"}}, m.Inputs, "weights are no inputs")
	require.Equal(t, []ModelValue{{"output", "float32 [batch, 10]"}}, m.Outputs)
	require.Equal(t, []ModelCount{{"Gemm", 2}, {"Relu", 1}}, m.Operators)
	require.Equal(t, []Tensor{{"w", "float32", []int64{10, 64}, 2560}, {"b", "bfloat16", []int64{10}, -1}}, m.Tensors)
	require.EqualValues(t, 650, m.Parameters)
	require.Contains(t, m.Facts, ModelFact{"Opset", "17"})
	require.Equal(t, []ModelFact{{"author", "mia"}}, m.Metadata)
	data := onnxOf()
	for n := range data {
		if _, err := ReadModel(t.Context(), fileOf(data[:n]), "onnx"); err != nil {
			require.True(t, apperr.Is(err, apperr.Invalid), "%v", err)
		}
	}
	for name, bad := range map[string][]byte{"empty": {}, "text": []byte("hello"), "lying": pb(1, 9, 7, "x")[:4], "no graph": pb(1, 9)} {
		_, err := ReadModel(t.Context(), fileOf(bad), "onnx")
		require.True(t, apperr.Is(err, apperr.Invalid), "%s: %v", name, err)
	}
	many := readModel(t, append(onnxOf(), bytes.Repeat(pb(30, 1), onnxFields)...), "onnx")
	require.NotEmpty(t, many.Problem)
}

// TestPickles: files that scikit-learn, joblib and PyTorch have written; testdata/models.py makes
// them.
func TestPickles(t *testing.T) {
	t.Parallel()
	read := func(name string) Model {
		data, err := os.ReadFile(filepath.Join("testdata", "models", name))
		require.NoError(t, err)
		format := Format(fileOf(data), name, "")
		require.Contains(t, []string{"pickle", "torch"}, format, name)
		return readModel(t, data, format)
	}
	for _, name := range []string{"logistic.pkl", "logistic.joblib", "logistic-zlib.joblib"} {
		m := read(name)
		require.Equal(t, "sklearn.linear_model._logistic.LogisticRegression", m.Class, name)
		require.Equal(t, "scikit-learn", m.Facts[0].Name, name)
		require.Contains(t, m.Attributes, ModelFact{"max_iter", "321"}, name)
		require.Contains(t, m.Tensors, Tensor{"coef_", "float64", []int64{3, 4}, 96}, name)
		require.Empty(t, m.Problem, name)
		require.Empty(t, m.Commands, name)
	}
	forest := read("pipeline.joblib")
	require.Equal(t, "sklearn.pipeline.Pipeline", forest.Class)
	require.Empty(t, forest.Problem)
	require.Contains(t, forest.Names, "sklearn.ensemble._forest.RandomForestClassifier")

	torch := read("state.pt")
	require.Equal(t, "collections.OrderedDict", torch.Class)
	require.Equal(t, []Tensor{{"layer.weight", "float", []int64{10, 4}, 160}, {"layer.bias", "bfloat16", []int64{10}, 20}}, torch.Tensors)
	require.EqualValues(t, 50, torch.Parameters)
}

// TestPicklesAreNotLoaded: what a pickle would run is named, and does not run.
func TestPicklesAreNotLoaded(t *testing.T) {
	t.Parallel()
	marker := filepath.Join(t.TempDir(), "owned")
	for name, text := range map[string]string{
		"posix.system":  "cposix\nsystem\n(S'touch " + marker + "'\ntR.",
		"os.system":     "\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x04true\x85R.",
		"builtins.eval": "cbuiltins\neval\n(S'1'\ntR.",
		"os.popen":      "(ios\npopen\n.",
		"?.?":           "\x80\x04)N\x93.",
	} {
		m := readModel(t, []byte(text), "pickle")
		require.Equal(t, []string{name}, m.Commands)
	}
	require.NoFileExists(t, marker)
	hidden := readModel(t, []byte("cos\nsystem\n0cnumpy\ndtype\n.\xff\xff"), "pickle")
	require.Equal(t, []string{"os.system"}, hidden.Commands, "also what the value does not contain")
	cut := readModel(t, []byte("cos\nsystem\n(S'x"), "pickle")
	require.Equal(t, []string{"os.system"}, cut.Commands)
	require.NotEmpty(t, cut.Problem)
}

func TestPicklesHostile(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	_, err := w.Write(make([]byte, EntryBytes+1))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	for name, text := range map[string]string{
		"empty": "", "no stack": ".", "lying bytes": "\x8e\xff\xff\xff\xff\xff\xff\xff\xff.", "lying text": "X\xff\xff\xff\x7fa.", "no mark": "t.", "no memo": "h\x00.",
		"unknown opcode": "\xfe.", "cut": "\x80\x04", "bomb": packed.String(), "bzip2": "BZh9", "no number": "gx\n.",
	} {
		_, err := ReadModel(t.Context(), fileOf([]byte(text)), "pickle")
		require.True(t, apperr.Is(err, apperr.Invalid), "%s: %v", name, err)
	}
	laughs := "cos\nx\n0]"
	for range 60 {
		laughs += "2\x86"
	}
	own := "cos\nx\n0]q\x00h\x00a."
	for name, text := range map[string]string{
		"laughs": laughs + ".", "own": own, "deep": "cos\nx\n0" + strings.Repeat("]", 100_000) + strings.Repeat("a", 99_999) + ".",
		"endless": "cos\nx\n" + strings.Repeat("N0", pickleOpcodes), "marks": "cos\nx\n" + strings.Repeat("(", pickleValues+10),
	} {
		m := readModel(t, []byte(text), "pickle")
		require.Equal(t, []string{"os.x"}, m.Commands, name)
	}
}

func torchOf(t testing.TB, pickle string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for name, content := range map[string]string{"m/data.pkl": pickle, "m/data/0": "12345678"} {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		require.NoError(t, err)
		_, err = f.Write([]byte(content))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func FuzzModel(f *testing.F) {
	f.Add(onnxOf())
	f.Add(safetensorsOf(`{"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}`, 24))
	f.Add(torchOf(f, "cposix\nsystem\n(S'x'\ntR."))
	for _, seed := range []string{"cos\nsystem\n(S'x'\ntR.", "]q\x00h\x00a.", "\x80\x04\x8c\x02os\x8c\x06system\x93.", "}(K\x01K\x02u.", "cjoblib.numpy_pickle\nNumpyArrayWrapper\n)\x81}b."} {
		f.Add([]byte(seed))
	}
	files, err := filepath.Glob("testdata/models/*")
	require.NoError(f, err)
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(f, err)
		if len(data) < 20_000 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, format := range []string{"safetensors", "onnx", "pickle", "torch"} {
			m, err := ReadModel(t.Context(), fileOf(data), format)
			if err != nil {
				require.True(t, apperr.Is(err, apperr.Invalid), "%s: %v", format, err)
				continue
			}
			require.LessOrEqual(t, len(m.Tensors), MaxTensors)
			require.Less(t, len(fmt.Sprint(m.Facts)), 1<<20)
		}
	})
}
