// Package codec compresses and decompresses bytes in transit.
package codec

import (
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/flowforge/flowforge/data/channel"
)

const (
	// SampleBytes is the size of the sample that decides whether compression pays.
	SampleBytes = 1 << 20
	// worthwhile is the minimum share of bytes that compression must save.
	worthwhile = 0.1
	// window is the maximum memory of decompression, regardless of the sender's header.
	window = 8 << 20
)

// NewWriter returns a compressing writer to w. Its Close flushes the compressed bytes
// and leaves w open.
func NewWriter(w io.Writer, c channel.Compression) (io.WriteCloser, error) {
	switch c {
	case channel.None:
		return nopCloser{w}, nil
	case channel.LZ4:
		z := lz4.NewWriter(w)
		if err := z.Apply(lz4.ChecksumOption(false), lz4.BlockSizeOption(lz4.Block256Kb)); err != nil { // their content hash is checked
			return nil, fmt.Errorf("pack with lz4: %w", err)
		}
		return writeCloser{z}, nil
	case channel.Zstd:
		z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window/2), zstd.WithEncoderCRC(false))
		if err != nil {
			return nil, fmt.Errorf("pack with zstd: %w", err)
		}
		return z, nil
	}
	return nil, fmt.Errorf("%q is not a compression", c)
}

// NewReader returns a decompressing reader of r. Its Close leaves r open.
func NewReader(r io.Reader, c channel.Compression) (io.ReadCloser, error) {
	switch c {
	case channel.None:
		return io.NopCloser(r), nil
	case channel.LZ4:
		return io.NopCloser(lz4.NewReader(r)), nil
	case channel.Zstd:
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(window), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, fmt.Errorf("unpack zstd: %w", err)
		}
		return z.IOReadCloser(), nil
	}
	return nil, fmt.Errorf("%q is not a compression", c)
}

// Pays reports whether compression saves enough of sample, the first bytes of a file.
func Pays(sample []byte, c channel.Compression) bool {
	if c == channel.None || len(sample) == 0 {
		return false
	}
	var packed bytes.Buffer
	w, err := NewWriter(&packed, c)
	if err != nil {
		return false
	}
	if _, err := w.Write(sample); err != nil || w.Close() != nil {
		return false
	}
	return float64(packed.Len()) <= (1-worthwhile)*float64(len(sample))
}

// writeCloser hides the ReadFrom of lz4, which fails once something has been written.
type writeCloser struct{ io.WriteCloser }

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
