package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
)

// DirectoryMediaType marks a blob that is the manifest of a folder.
const DirectoryMediaType = "application/vnd.flowforge.directory+json"

const (
	maxManifest         = 64 << 20 // bytes
	maxDirectoryEntries = 100_000
)

// manifest lists the files of a folder, sorted by path.
type manifest struct {
	Entries []manifestEntry `json:"entries"`
}

type manifestEntry struct {
	Path   string      `json:"path"` // slashes, relative, without ".."
	SHA256 string      `json:"sha256"`
	Size   int64       `json:"size"`
	Mode   fs.FileMode `json:"mode"` // permission bits
}

// restoreDirectory makes the folder to of the manifest with hash sha, which goes on
// being written: no file shares its bytes with the cache.
func (c *blobCache) restoreDirectory(ctx context.Context, token, sha, to string) (manifest, error) {
	m, err := c.manifest(ctx, token, sha)
	if err != nil {
		return m, err
	}
	return m, c.placeEntries(sha, to, m, func(e manifestEntry, to string) error {
		from, err := c.fetch(ctx, token, e.SHA256)
		if err != nil {
			return err
		}
		return copyFile(from, to, e.Mode.Perm())
	})
}

// manifest fetches the manifest with hash sha.
func (c *blobCache) manifest(ctx context.Context, token, sha string) (m manifest, err error) {
	from, err := c.fetch(ctx, token, sha)
	if err != nil {
		return m, err
	}
	data, err := readLimited(from, maxManifest)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("folder manifest %.12s: %w", sha, err)
	}
	return m, nil
}

// placeEntries makes the folder to with the files of a manifest, each by place.
func (c *blobCache) placeEntries(sha, to string, m manifest, place func(e manifestEntry, to string) error) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, e := range m.Entries {
		local, err := localPath(e.Path)
		if err != nil {
			return fmt.Errorf("folder manifest %.12s: %w", sha, err)
		}
		target := filepath.Join(to, local)
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		if err := place(e, target); err != nil {
			return fmt.Errorf("file %s: %w", e.Path, err)
		}
	}
	return nil
}

// localPath returns name as a path below the folder it is joined to, or an error.
func localPath(name string) (string, error) {
	local := filepath.FromSlash(name)
	if !filepath.IsLocal(local) || path.Clean(name) == "." {
		return "", fmt.Errorf("the path %q leads out of its folder", name)
	}
	return filepath.Clean(local), nil
}

// readLimited reads a file of at most limit bytes.
func readLimited(name string, limit int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", filepath.Base(name), limit)
	}
	return data, err
}

// openRegular opens a regular file below root without following links and
// without waiting for the writer of a pipe.
func openRegular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, nil, errNotRegular
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		_ = file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

var errNotRegular = errors.New("not a regular file (links are not followed)")

// hashed returns the hash and size of a regular file below root.
func hashed(root *os.Root, name string) (sha string, size int64, mode fs.FileMode, err error) {
	file, info, err := openRegular(root, name)
	if err != nil {
		return "", 0, 0, err
	}
	defer file.Close()
	hash := sha256.New()
	if size, err = io.Copy(hash, file); err != nil {
		return "", 0, 0, err
	}
	return hex.EncodeToString(hash.Sum(nil)), size, info.Mode().Perm(), nil
}

// manifestOf lists the regular files of a folder below root; it names the
// entries that it left out because they are links or devices.
func manifestOf(root *os.Root, folder string) (m manifest, skipped []string, err error) {
	m.Entries = []manifestEntry{}
	err = fs.WalkDir(root.FS(), folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if !entry.Type().IsRegular() {
			skipped = append(skipped, name)
			return nil
		}
		if len(m.Entries) == maxDirectoryEntries {
			return fmt.Errorf("the folder has more than %d files", maxDirectoryEntries)
		}
		sha, size, mode, err := hashed(root, name)
		if errors.Is(err, errNotRegular) {
			skipped = append(skipped, name)
			return nil
		}
		if err != nil {
			return err
		}
		relative := name
		if folder != "." {
			relative = name[len(folder)+1:]
		}
		m.Entries = append(m.Entries, manifestEntry{Path: relative, SHA256: sha, Size: size, Mode: mode})
		return nil
	})
	return m, skipped, err
}
