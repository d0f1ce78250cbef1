package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/flowforge/flowforge/data/channel"
	"github.com/flowforge/flowforge/data/channel/codec"
)

// packedBytes is the number of bytes to compress.
const packedBytes = 256 << 20

// packing measures the compression of transferred files: of a text table of numbers, and of random
// bytes, whose first megabyte shows that compression saves nothing.
func packing() error {
	fmt.Println("\n| bytes | compression | share that travels | packs | unpacks |\n|---|---|--:|--:|--:|")
	for _, sample := range []struct {
		name  string
		bytes []byte
	}{{"table (CSV)", table()}, {"random", noise()}} {
		for _, c := range []channel.Compression{channel.LZ4, channel.Zstd} {
			if !codec.Pays(sample.bytes[:codec.SampleBytes], c) {
				fmt.Printf("| %s | none, as %s does not pay | 100 %% | | |\n", sample.name, c)
				continue
			}
			var out bytes.Buffer
			begin := time.Now()
			w, err := codec.NewWriter(&out, c)
			if err != nil {
				return err
			}
			if _, err := w.Write(sample.bytes); err != nil {
				return err
			}
			if err := w.Close(); err != nil {
				return err
			}
			packs := rate(begin)
			size := out.Len()
			begin = time.Now()
			r, err := codec.NewReader(&out, c)
			if err != nil {
				return err
			}
			if _, err := io.Copy(io.Discard, r); err != nil {
				return err
			}
			fmt.Printf("| %s | %s | %.0f %% | %s | %s |\n", sample.name, c, 100*float64(size)/packedBytes, packs, rate(begin))
		}
	}
	return nil
}

func rate(begin time.Time) string {
	return fmt.Sprintf("%.0f MB/s", packedBytes/1e6/time.Since(begin).Seconds())
}

func table() []byte {
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same table each time
	var b strings.Builder
	for b.Len() < packedBytes {
		fmt.Fprintf(&b, "%d,%.6f,%.4f,%s\n", r.IntN(1_000_000), r.NormFloat64(), r.Float64(), [...]string{"train", "valid", "test"}[r.IntN(3)])
	}
	return []byte(b.String()[:packedBytes])
}

func noise() []byte {
	b := make([]byte, packedBytes)
	_, _ = rand.NewChaCha8([32]byte{3}).Read(b)
	return b
}
