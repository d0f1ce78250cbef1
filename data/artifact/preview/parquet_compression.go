package preview

import (
	"bytes"
	"compress/gzip"
	"io"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// decompress returns at most size bytes: a page that has more is a bomb or damaged.
func decompress(codec format.CompressionCodec, raw []byte, size int) ([]byte, error) {
	switch {
	case size < 0 || size > pageBytes:
		return nil, errPage
	case len(raw) == 0 || codec == format.Uncompressed:
		return raw, nil
	}
	switch codec {
	case format.Snappy:
		if n, err := snappy.DecodedLen(raw); err != nil || n > size {
			return nil, errPage
		}
		out, err := snappy.Decode(nil, raw)
		return out, page(err)
	case format.Gzip:
		r, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			return nil, page(err)
		}
		return inflate(r, size)
	case format.Zstd:
		r, err := zstd.NewReader(bytes.NewReader(raw), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(pageBytes), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, page(err)
		}
		defer r.Close()
		return inflate(r, size)
	case format.Lz4Raw:
		out := make([]byte, size)
		n, err := lz4.UncompressBlock(raw, out)
		return out[:max(n, 0)], page(err)
	}
	return nil, bad("A column is compressed with %s, which the preview does not support.", codec)
}

func page(err error) error {
	if err == nil {
		return nil
	}
	return bad("A page is damaged: %s.", err)
}

func inflate(r io.Reader, size int) ([]byte, error) {
	var out bytes.Buffer
	n, err := io.Copy(&out, io.LimitReader(r, int64(size)+1))
	if err != nil {
		return nil, page(err)
	}
	if n > int64(size) {
		return nil, bad("A page has more bytes than its header declares (%d).", size)
	}
	return out.Bytes(), nil
}
