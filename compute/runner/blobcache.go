package runner

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowforge/flowforge/data/channel"
	"github.com/flowforge/flowforge/data/channel/codec"
	"github.com/flowforge/flowforge/data/channel/mark"
)

const (
	blobCacheBytes = 20 << 30            // pruning reduces the cache to this size
	blobCacheAge   = 14 * 24 * time.Hour // unused blobs older than this are deleted
	blobCacheGrace = 10 * time.Minute    // blobs used more recently are kept
	linkAtLeast    = 4 << 20             // smaller files are copied
)

// blobCache keeps fetched blobs under their hash, read-only.
type blobCache struct {
	dir    string
	server *server
	links  bool // this process cannot write read-only files, so attempts may get links to them

	mu       sync.Mutex
	fetching map[string]chan struct{} // closed when the fetch has ended
}

func newBlobCache(dir string, s *server) *blobCache {
	return &blobCache{dir: dir, server: s, links: os.Geteuid() != 0, fetching: make(map[string]chan struct{})}
}

func (c *blobCache) path(sha string) string { return filepath.Join(c.dir, sha[:2], sha) }

// validSHA reports whether sha is a SHA-256 in lower-case hex.
func validSHA(sha string) bool {
	if len(sha) != 2*sha256.Size {
		return false
	}
	for _, c := range []byte(sha) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// fetch returns the path of the blob in the cache and downloads the blob if it is
// missing. Callers must not write to the file.
func (c *blobCache) fetch(ctx context.Context, token, sha string) (string, error) {
	return c.fetchPacked(ctx, token, sha, channel.None, &transferStats{})
}

// fetchPacked is fetch with a requested compression; it adds to came what was
// transferred.
func (c *blobCache) fetchPacked(ctx context.Context, token, sha string, packing channel.Compression, transferred *transferStats) (string, error) {
	if !validSHA(sha) {
		return "", fmt.Errorf("%q is not a SHA-256 in hex", sha)
	}
	path := c.path(sha)
	for {
		if info, err := os.Stat(path); err == nil {
			if verifyStored(path, sha, info.Size()) == nil {
				_ = os.Chtimes(path, time.Now(), info.ModTime()) // the mark records the modification time
				return path, nil
			}
			_ = os.Remove(path)
		}
		c.mu.Lock()
		other, busy := c.fetching[sha]
		if !busy {
			c.fetching[sha] = make(chan struct{})
		}
		c.mu.Unlock()
		if !busy {
			err := c.server.persistently(ctx, nil, func() error { return c.download(ctx, token, sha, path, packing, transferred) })
			c.mu.Lock()
			close(c.fetching[sha])
			delete(c.fetching, sha)
			c.mu.Unlock()
			return path, err
		}
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-other: // fetched or failed: check again
		}
	}
}

func (c *blobCache) download(ctx context.Context, token, sha, path string, packing channel.Compression, transferred *transferStats) error {
	resp, err := c.server.getBlob(ctx, sha, token, packing)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return &refusedError{message: err.Error()}
	}
	file, err := os.CreateTemp(filepath.Dir(path), "fetch-*")
	if err != nil {
		return &refusedError{message: err.Error()}
	}
	defer os.Remove(file.Name())
	defer file.Close()
	*transferred = transferStats{packed: channel.Compression(resp.Header.Get("Content-Encoding"))}
	plain, err := codec.NewReader(&counted{resp.Body, &transferred.bytes}, transferred.packed)
	if err != nil {
		return &refusedError{message: err.Error()}
	}
	defer plain.Close()
	hash := sha256.New()
	if transferred.written, err = io.Copy(io.MultiWriter(file, hash), plain); err != nil {
		return fmt.Errorf("fetch blob %.12s: %w", sha, err)
	}
	if hex.EncodeToString(hash.Sum(nil)) != sha {
		return fmt.Errorf("fetch blob %.12s: its content has a different hash", sha)
	}
	if err := mark.Set(file); err != nil {
		return &refusedError{message: err.Error()}
	}
	return os.Rename(file.Name(), path)
}

// counted counts the bytes that are read, in n.
type counted struct {
	r io.Reader
	n *int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	*c.n += int64(n)
	return n, err
}

// copyFile writes a new file at to with the content of from.
func copyFile(from, to string, mode fs.FileMode) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode.Perm()|0o600)
	if err != nil {
		return err
	}
	defer target.Close()
	if unix.IoctlFileClone(int(target.Fd()), int(source.Fd())) == nil {
		return nil
	}
	if _, err := io.Copy(target, source); err != nil {
		return err
	}
	return target.Close()
}

// accessed returns when a file of the cache was last used.
func accessed(info fs.FileInfo) time.Time {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(stat.Atim.Unix())
	}
	return info.ModTime()
}

// prune deletes blobs that have not been used for a long time, and the least recently
// used ones above the size limit.
func (c *blobCache) prune(now time.Time) {
	type blob struct {
		path string
		size int64
		used time.Time
	}
	var blobs []blob
	var total int64
	_ = filepath.WalkDir(c.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil //nolint:nilerr // unreadable entries are not pruned
		}
		if info, err := entry.Info(); err == nil {
			blobs = append(blobs, blob{path, info.Size(), accessed(info)})
			total += info.Size()
		}
		return nil
	})
	slices.SortFunc(blobs, func(a, b blob) int { return cmp.Compare(a.used.UnixNano(), b.used.UnixNano()) })
	for _, b := range blobs {
		age := now.Sub(b.used)
		if age < blobCacheGrace || (age < blobCacheAge && total <= blobCacheBytes) {
			return
		}
		if os.Remove(b.path) == nil {
			total -= b.size
		}
	}
}
