package codec_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/flowforge/flowforge/data/channel"
	"github.com/flowforge/flowforge/data/channel/codec"
)

func random(n int) []byte {
	r := rand.NewChaCha8([32]byte{1})
	b := make([]byte, n)
	_, _ = r.Read(b)
	return b
}

func TestWhatIsPackedComesOutAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []channel.Compression{channel.None, channel.LZ4, channel.Zstd} {
		for _, want := range [][]byte{nil, {7}, random(3 << 20), []byte(strings.Repeat("epoch,loss\n", 500_000))} {
			var packed bytes.Buffer
			w, err := codec.NewWriter(&packed, c)
			if err != nil {
				t.Fatal(err)
			}
			half := len(want) / 2
			if _, err := w.Write(want[:half]); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(w, bytes.NewBuffer(want[half:])); err != nil { // which may use ReadFrom
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if c != channel.None && len(want) > 4<<20 && packed.Len() > len(want)/10 {
				t.Errorf("%s made %d bytes of %d", c, packed.Len(), len(want))
			}
			r, err := codec.NewReader(bytes.NewReader(packed.Bytes()), c)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %d bytes came out of %d (%v)", c, len(got), len(want), err)
			}
			_ = r.Close()
			if c == channel.None || len(want) < 2 {
				continue
			}
			r, err = codec.NewReader(bytes.NewReader(packed.Bytes()[:packed.Len()/2]), c)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(r); err == nil {
				t.Errorf("%s: half of the packed bytes ended well, with %d bytes", c, len(got))
			}
			_ = r.Close()
		}
	}
	if _, err := codec.NewWriter(io.Discard, "gzip"); err == nil {
		t.Error("gzip is not supported")
	}
	if _, err := codec.NewReader(strings.NewReader(""), "gzip"); err == nil {
		t.Error("gzip is not supported")
	}
}

func TestPackingHasToPay(t *testing.T) {
	t.Parallel()
	for _, c := range []channel.Compression{channel.LZ4, channel.Zstd} {
		if codec.Pays(random(1<<20), c) {
			t.Errorf("%s: random bytes cannot be packed", c)
		}
		if !codec.Pays([]byte(strings.Repeat("a,b\n", 1000)), c) {
			t.Errorf("%s: text can be packed", c)
		}
	}
	if codec.Pays([]byte("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), channel.None) || codec.Pays(nil, channel.Zstd) {
		t.Error("None does not compress")
	}
}
