// Command channels measures the savings of each data channel: an operator writes one large
// file, and the next one reads it. The program measures the time of both together and between
// them. A streamed file is read before its end is written, which is a negative time. The
// program starts the binary of `make build` on a separate data directory:
//
//	make build && scripts/environment go run ./bench/channels
//
// As root, it starts the server as the account -as, because a runner that runs as root copies
// files instead of linking them; -as 0 measures that.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

func main() {
	megabytes := flag.Int("megabytes", 1000, "size of the file, in 10⁶ bytes")
	repeat := flag.Int("repeat", 3, "runs of each channel; the middle one counts")
	binary := flag.String("binary", "bin/flowforge", "the server")
	files := flag.Int("files", 0, "measure a folder of that many small files instead")
	as := flag.Int("as", 65534, "account of the server when this runs as root")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *binary, *megabytes, *files, *repeat, *as)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/channels:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, binary string, megabytes, files, repeat, as int) (err error) {
	if os.Geteuid() != 0 {
		as = os.Geteuid()
	}
	dir, err := os.MkdirTemp("", "flowforge-channels-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	data := filepath.Join(dir, "data")
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(data, 0o700), os.Chown(data, as, -1)); err != nil {
		return err
	}
	s, err := startServer(ctx, binary, data, as)
	if err != nil {
		return err
	}
	defer s.stop()
	if files > 0 {
		for range repeat {
			took, err := s.measureFolder(ctx, files)
			if err != nil {
				return err
			}
			fmt.Printf("%d small files: %.1f s from the last write to the end of the execution\n", files, took.Seconds())
			files++ // another version of the workflow
		}
		return nil
	}
	fmt.Printf("%d MB, %d runs, the server is account %d\n\n", megabytes, repeat, as)
	fmt.Println("| storage of the output | channel | both together | until the consumer begins | until it has read all | through a connection | copied for the consumer |\n|---|---|--:|--:|--:|--:|--:|")
	for i, storage := range []string{"distributed", "disk", "memory", "streaming"} {
		var runs []outcome
		for n := range repeat {
			o, err := s.measure(ctx, storage, megabytes, i*repeat+n) // bytes that are new to the store
			if err != nil {
				return fmt.Errorf("storage %s: %w", storage, err)
			}
			runs = append(runs, o)
			if err := empty(data); err != nil {
				return err
			}
		}
		slices.SortFunc(runs, func(a, b outcome) int { return int(a.both - b.both) })
		o := runs[len(runs)/2]
		fmt.Printf("| `%s` | %s | %.2f s | %.2f s | %.2f s | %d MB | %d MB |\n", storage, o.channel, o.both.Seconds(), o.began.Seconds(), o.read.Seconds(), o.moved/1e6, o.copied/1e6)
	}
	return packing()
}

// empty removes the files of a run, so that the next run has free disk space.
func empty(data string) error {
	for _, pattern := range []string{"artifacts/data/*/*/*", "runner/cache/blobs/*/*"} {
		files, err := filepath.Glob(filepath.Join(data, pattern))
		if err != nil {
			return err
		}
		for _, f := range files {
			if err := os.Remove(f); err != nil {
				return err
			}
		}
	}
	syscall.Sync()
	time.Sleep(time.Second) // the disk may still be busy with what was removed
	return nil
}
