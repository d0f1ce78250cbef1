package pickle_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/metaflow/pickle"
)

// example is a value that Python has pickled and printed.
type example struct {
	Protocol int
	Pickle   []byte
	Text     string
}

func examples(t testing.TB) []example {
	t.Helper()
	raw, err := os.ReadFile("testdata/values.json")
	require.NoError(t, err)
	var all []example
	require.NoError(t, json.Unmarshal(raw, &all))
	require.Greater(t, len(all), 200)
	return all
}

// TestPython: values read as Python prints them, in every protocol.
func TestPython(t *testing.T) {
	t.Parallel()
	for _, e := range examples(t) {
		v, err := pickle.Decode(t.Context(), e.Pickle)
		require.NoError(t, err, "protocol %d: %s", e.Protocol, e.Text)
		text, cut := pickle.Text(v, 1<<20)
		require.False(t, cut)
		want := e.Text
		if inner, ok := strings.CutPrefix(want, "bytearray("); ok {
			want = strings.TrimSuffix(inner, ")")
		}
		require.Equal(t, want, text, "protocol %d", e.Protocol)
	}
}

// TestRefused: what names code is refused with the name, and nothing of it runs.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"posix.system":         "cposix\nsystem\n(S'touch /tmp/owned'\ntR.",
		"os.system":            "\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x04true\x85R.",
		"builtins.eval":        "c__builtin__\neval\n(S'1'\ntR.",
		"builtins.getattr":     "\x80\x04\x8c\x08builtins\x8c\x07getattr\x93.",
		"datetime.datetime":    "cdatetime\ndatetime\n.",             // a class is no value
		"datetime.date":        "cdatetime\ndate\n(S'no bytes'\ntR.", // other arguments
		"collections.deque":    "\x80\x02ccollections\ndeque\n)R.",   //
		"":                     "(ios\nsystem\n.",                    // INST
		"a very large integer": "\x8b\xff\xff\x00\x00" + strings.Repeat("\x01", 0xffff) + ".",
	} {
		_, err := pickle.Decode(t.Context(), []byte(text))
		other, ok := errors.AsType[*pickle.OtherError](err)
		require.True(t, ok, "%s: %v", name, err)
		require.Equal(t, name, other.Name)
	}
	for _, text := range []string{")\x81.", "N}b.", "\x82\x01.", "P1\n.", "NQ.", "\x97.", "(o."} {
		_, err := pickle.Decode(t.Context(), []byte(text))
		_, ok := errors.AsType[*pickle.OtherError](err)
		require.True(t, ok, "%q: %v", text, err)
	}
	// A class cannot hide in a container.
	for _, text := range []string{"]cdatetime\ndate\na.", "(cdatetime\ndate\nt.", "cdatetime\ndate\n\x85.", "}Ncdatetime\ndate\ns.", "(cdatetime\ndate\nNd."} {
		_, err := pickle.Decode(t.Context(), []byte(text))
		require.Error(t, err, "%q", text)
	}
}

func TestMalformed(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", ".", "K", "\x8e\xff\xff\xff\xff\xff\xff\xff\xff.", "X\xff\xff\xff\xffa.", "t.", "a.", "Na.", "]Ke", "h\x00.", "\x80\x09N.", "I1", "Ix\n.", "Fx\n.",
		"S\n.", "(NNu.", "}(Nu.", "(\x94.", "\xfe.", "]N\x90.", "\x93.", "NN\x93.", "R.", "g9999999999999\n.",
	} {
		_, err := pickle.Decode(t.Context(), []byte(text))
		require.ErrorIs(t, err, pickle.ErrMalformed, "%q", text)
	}
	_, err := pickle.Decode(t.Context(), make([]byte, pickle.MaxBytes+1))
	require.ErrorIs(t, err, pickle.ErrMalformed)
}

// TestBombs: small pickles with enormous values are cut when they are printed.
func TestBombs(t *testing.T) {
	t.Parallel()
	laughs := "]"
	for range 60 { // each list has the one before twice
		laughs += "2\x86" // DUP, TUPLE2
	}
	deep := strings.Repeat("]", 100_000) + strings.Repeat("a", 99_999)
	own := "]q\x00h\x00a"
	for name, text := range map[string]string{"laughs": laughs, "deep": deep, "own": own} {
		v, err := pickle.Decode(t.Context(), []byte(text+"."))
		require.NoError(t, err, name)
		printed, cut := pickle.Text(v, 1000)
		require.True(t, cut, name)
		require.Less(t, len(printed), 1100, name)
	}
	long := bytes.Repeat([]byte("I1\n0"), 1<<19)
	_, err := pickle.Decode(t.Context(), append(long, 'N', '.'))
	require.NoError(t, err)
}

// TestReads: parts of a value are found without reading the rest.
func TestReads(t *testing.T) {
	t.Parallel()
	v, err := pickle.Decode(t.Context(), []byte("(dS'a'\n]K\x01asS'a'\n(K\x02ts."))
	require.NoError(t, err)
	require.Equal(t, []any{int64(2)}, pickle.Items(pickle.Get(v, "a")), "the later pair wins")
	require.Nil(t, pickle.Get(v, "none"))
	require.Nil(t, pickle.Get("text", "a"))
	require.Empty(t, pickle.Items("text"))
}

// TestBudget: pickles that make much more than their size are refused, not read.
func TestBudget(t *testing.T) {
	t.Parallel()
	text := func(s string) string {
		return "X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s
	}
	long := text("\x01" + strings.Repeat("a", 2<<20))
	for name, data := range map[string]string{
		"bytes of a text of the memo": "c_codecs\nencode\nq\x00" + long + "q\x01" + text("latin1") + "q\x02" + strings.Repeat("h\x00h\x01h\x02\x86R", 100),
		"numbers of the same text":    "cdecimal\nDecimal\nq\x00" + long + "q\x01" + strings.Repeat("h\x00h\x01\x85R", 100),
		"dictionaries":                strings.Repeat("}", pickle.MaxBytes-1),
		"sets":                        strings.Repeat("\x8f", pickle.MaxBytes-1),
		"marks":                       strings.Repeat("(", pickle.MaxBytes-1),
		"memo":                        "N" + strings.Repeat("\x94", pickle.MaxBytes-2),
	} {
		_, err := pickle.Decode(t.Context(), []byte(data+"."))
		require.ErrorIs(t, err, pickle.ErrTooLarge, name)
	}
	for name, data := range map[string]string{
		"a long text":      text(strings.Repeat("a", 3<<20)),
		"a list of floats": "](" + strings.Repeat("G12345678", 300_000) + "e",
		"a dictionary":     "}(" + strings.Repeat("M12K\x01", 100_000) + "u",
	} {
		_, err := pickle.Decode(t.Context(), []byte(data+"."))
		require.NoError(t, err, name)
	}
}

// TestDecodeEnds: a decoder stops with its request.
func TestDecodeEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := pickle.Decode(ctx, []byte("N."))
	require.ErrorIs(t, err, context.Canceled)
}

func FuzzDecode(f *testing.F) {
	for _, e := range examples(f) {
		f.Add(e.Pickle)
	}
	for _, seed := range []string{"cposix\nsystem\n(S'x'\ntR.", "]q\x00h\x00a.", "(NNd.", "\x8f(N\x90.", "c_codecs\nencode\nq\x00Va\nq\x01Vlatin1\nq\x02h\x00h\x01h\x02\x86R."} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := pickle.Decode(t.Context(), data)
		if err != nil {
			other, ok := errors.AsType[*pickle.OtherError](err)
			require.True(t, errors.Is(err, pickle.ErrMalformed) || errors.Is(err, pickle.ErrTooLarge) || ok && len(other.Name) < 200, "%v", err)
			return
		}
		text, _ := pickle.Text(v, 200)
		require.Less(t, len(text), 20_000)
		pickle.Get(v, "a")
		pickle.Items(v)
	})
}
