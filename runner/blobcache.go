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
	"time"

	"golang.org/x/sys/unix"
)

const (
	blobCacheBytes = 20 << 30            // the cache is cut back to this size
	blobCacheAge   = 14 * 24 * time.Hour // unused blobs older than this go
	blobCacheGrace = 10 * time.Minute    // a blob used since then stays
	linkAtLeast    = 4 << 20             // smaller files are copied
)

// blobCache keeps fetched blobs under their hash, read-only.
type blobCache struct {
	dir    string
	server *server

	mu       sync.Mutex
	fetching map[string]chan struct{} // closed when the fetch has ended
}

func newBlobCache(dir string, s *server) *blobCache {
	return &blobCache{dir: dir, server: s, fetching: make(map[string]chan struct{})}
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

// fetch returns the path of the blob in the cache, after getting it from the
// server when it is not there. The file is never to be written.
func (c *blobCache) fetch(ctx context.Context, token, sha string) (string, error) {
	if !validSHA(sha) {
		return "", fmt.Errorf("%q is not a SHA-256 in hex", sha)
	}
	path := c.path(sha)
	for {
		if _, err := os.Stat(path); err == nil {
			now := time.Now()
			_ = os.Chtimes(path, now, now)
			return path, nil
		}
		c.mu.Lock()
		other, busy := c.fetching[sha]
		if !busy {
			c.fetching[sha] = make(chan struct{})
		}
		c.mu.Unlock()
		if !busy {
			err := c.server.persistently(ctx, nil, func() error { return c.download(ctx, token, sha, path) })
			c.mu.Lock()
			close(c.fetching[sha])
			delete(c.fetching, sha)
			c.mu.Unlock()
			return path, err
		}
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-other: // fetched, or failed: look again
		}
	}
}

func (c *blobCache) download(ctx context.Context, token, sha, path string) error {
	resp, err := c.server.getBlob(ctx, sha, token)
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
	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(file, hash), resp.Body); err != nil {
		return fmt.Errorf("fetch blob %.12s: %w", sha, err)
	}
	if hex.EncodeToString(hash.Sum(nil)) != sha {
		return fmt.Errorf("fetch blob %.12s: its content has another hash", sha)
	}
	if err := file.Chmod(0o444); err != nil {
		return &refusedError{message: err.Error()}
	}
	return os.Rename(file.Name(), path)
}

// place puts the blob at to as a file of its own: writing to it never changes
// the cache. Large files share their bytes where the file system can, or by a
// read-only link where permissions hold (they do not for root).
func (c *blobCache) place(ctx context.Context, token, sha, to string, mode fs.FileMode) error {
	from, err := c.fetch(ctx, token, sha)
	if err != nil {
		return err
	}
	return placeFile(from, to, mode)
}

func placeFile(from, to string, mode fs.FileMode) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	large := info.Size() >= linkAtLeast
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode.Perm()|0o600)
	if err != nil {
		return err
	}
	defer target.Close()
	if large && unix.IoctlFileClone(int(target.Fd()), int(source.Fd())) == nil {
		return nil
	}
	if large && os.Geteuid() != 0 && mode.Perm()&0o111 == 0 {
		if err := os.Remove(to); err != nil {
			return err
		}
		if err := os.Link(from, to); err == nil {
			return nil
		}
		if target, err = os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode.Perm()|0o600); err != nil {
			return err
		}
		defer target.Close()
	}
	if _, err := io.Copy(target, source); err != nil {
		return err
	}
	return target.Close()
}

// copyFile makes to a file of its own with the bytes of from.
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

// prune deletes what has not been used for long, and the least used above the
// size limit.
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
			return nil //nolint:nilerr // what cannot be read is not pruned
		}
		if info, err := entry.Info(); err == nil {
			blobs = append(blobs, blob{path, info.Size(), info.ModTime()})
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
