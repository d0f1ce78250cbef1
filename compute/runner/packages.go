package runner

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	maxPackageBytes   = 1 << 30 // unpacked
	maxPackageEntries = 50_000
)

// packageCache keeps unpacked code packages under their hash.
type packageCache struct {
	dir   string
	blobs *blobCache
	mu    sync.Mutex // unpacking is short and rare: one at a time
}

// copyTo copies the package with hash sha into a working directory.
func (c *packageCache) copyTo(ctx context.Context, token, sha string, to *slotCode) error {
	from, err := c.unpacked(ctx, token, sha)
	if err != nil {
		return fmt.Errorf("code package: %w", err)
	}
	if err := to.copyFrom(from); err != nil {
		return fmt.Errorf("code package: %w", err)
	}
	return nil
}

// has reports whether the cache has a package, and keeps it for some time.
func (c *packageCache) has(sha string) bool {
	now := time.Now()
	return validSHA(sha) && os.Chtimes(filepath.Join(c.dir, sha), now, now) == nil
}

func (c *packageCache) unpacked(ctx context.Context, token, sha string) (string, error) {
	if !validSHA(sha) {
		return "", fmt.Errorf("%q is not a SHA-256 in hex", sha)
	}
	if c.has(sha) {
		return filepath.Join(c.dir, sha), nil
	}
	blob, err := c.blobs.fetch(ctx, token, sha)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	dir := filepath.Join(c.dir, sha)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return "", err
	}
	temp, err := os.MkdirTemp(c.dir, "unpack-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	if err := unpack(blob, temp); err != nil {
		return "", err
	}
	return dir, os.Rename(temp, dir)
}

// unpack extracts the tar.gz file into dir. It accepts only folders and regular files; an
// entry that is a link, or whose path is outside dir, makes it refuse the whole package.
func unpack(file, dir string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	zipped, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("it is not a tar.gz file: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	archive := tar.NewReader(zipped)
	left := int64(maxPackageBytes)
	for entries := 0; ; entries++ {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("it is not a tar.gz file: %w", err)
		}
		if entries == maxPackageEntries {
			return fmt.Errorf("it has more than %d entries", maxPackageEntries)
		}
		if header.Size > left {
			return fmt.Errorf("it has more than %d bytes unpacked", int64(maxPackageBytes))
		}
		left -= header.Size
		if err := unpackEntry(root, header, archive); err != nil {
			return err
		}
	}
}

func unpackEntry(root *os.Root, header *tar.Header, content io.Reader) error {
	if filepath.Clean(header.Name) == "." && header.Typeflag == tar.TypeDir {
		return nil
	}
	name, err := localPath(header.Name)
	if err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeXGlobalHeader:
		return nil
	case tar.TypeDir:
		return root.MkdirAll(name, 0o755)
	case tar.TypeReg:
	default:
		return fmt.Errorf("%s is a link or a device; packages hold files and folders", header.Name)
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if header.Mode&0o111 != 0 {
		mode = 0o755
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, content); err != nil {
		_ = file.Close()
		return fmt.Errorf("unpack %s: %w", name, err)
	}
	return file.Close()
}
