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
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// DirectoryMediaType marks a blob that is the manifest of a folder.
const DirectoryMediaType = "application/vnd.flowforge.directory+json"

const (
	maxManifest         = 64 << 20 // bytes
	maxDirectoryEntries = 250_000
)

// manifest lists the files of a folder, sorted by path.
type manifest struct {
	Entries []manifestEntry `json:"entries"`

	targets map[string]string // texts of the links by hash, for upload
}

type manifestEntry struct {
	Path   string      `json:"path"` // with slashes, relative, without ".."
	SHA256 string      `json:"sha256"`
	Size   int64       `json:"size"`
	Mode   fs.FileMode `json:"mode"` // permission bits, and the bit of links
}

// restoreDirectory creates the folder to from the manifest with hash sha. The attempt may
// write to the folder: no file shares its data with the cache.
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

// placeEntries creates the folder to of a manifest; place creates each file.
func (c *blobCache) placeEntries(sha, to string, m manifest, place func(e manifestEntry, to string) error) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	var links []manifestEntry
	for _, e := range m.Entries {
		if e.isLink() {
			links = append(links, e)
			continue
		}
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
	return placeLinks(links, to, place)
}

// localPath returns name as a path below the folder to which it is joined, or an error.
func localPath(name string) (string, error) {
	local := filepath.FromSlash(name)
	if !filepath.IsLocal(local) || path.Clean(name) == "." {
		return "", fmt.Errorf("the path %q is outside its folder", name)
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

// openRegular opens a regular file below root without following links and without
// blocking on the writer of a pipe.
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

// hashed returns the hash, size and mode of a regular file below root.
func hashed(ctx context.Context, root *os.Root, name string) (sha string, size int64, mode fs.FileMode, err error) {
	file, info, err := openRegular(root, name)
	if err != nil {
		return "", 0, 0, err
	}
	defer file.Close()
	hash := sha256.New()
	if size, err = io.Copy(hash, &untilDone{ctx, file}); err != nil {
		return "", 0, 0, err
	}
	return hex.EncodeToString(hash.Sum(nil)), size, info.Mode().Perm(), nil
}

// untilDone reads until the context is cancelled.
type untilDone struct {
	ctx context.Context
	r   io.Reader
}

// Read fails with the cause of the context's cancellation.
func (u *untilDone) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.r.Read(p)
}

// manifestOf lists the regular files and the links of a folder below root; it follows no
// link. It returns the names of the entries that it skipped, such as devices.
func manifestOf(ctx context.Context, root *os.Root, folder string) (m manifest, skipped []string, err error) {
	var names []string
	var isLink []bool
	err = fs.WalkDir(root.FS(), folder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || entry.IsDir():
			return err
		case !entry.Type().IsRegular() && entry.Type() != fs.ModeSymlink:
			skipped = append(skipped, name)
		case len(names) == maxDirectoryEntries:
			return fmt.Errorf("the folder has more than %d files; write an archive instead", maxDirectoryEntries)
		default:
			names = append(names, name)
			isLink = append(isLink, entry.Type() == fs.ModeSymlink)
		}
		return nil
	})
	if err != nil {
		return m, skipped, err
	}
	entries := make([]*manifestEntry, len(names))
	err = inParallel(len(names), func(i int) error {
		if isLink[i] {
			return nil
		}
		sha, size, mode, err := hashed(ctx, root, names[i])
		if errors.Is(err, errNotRegular) {
			return nil // it became a link after it was listed
		}
		if err == nil {
			relative, _ := strings.CutPrefix(names[i], folder+"/")
			entries[i] = &manifestEntry{Path: relative, SHA256: sha, Size: size, Mode: mode}
		}
		return err
	})
	m.Entries, m.targets = make([]manifestEntry, 0, len(entries)), map[string]string{}
	for i, e := range entries {
		if isLink[i] && err == nil {
			relative, _ := strings.CutPrefix(names[i], folder+"/")
			var link manifestEntry
			var target string
			link, target, err = linkEntry(root, names[i], relative)
			e, m.targets[link.SHA256] = &link, target
		}
		if e == nil {
			skipped = append(skipped, names[i])
			continue
		}
		m.Entries = append(m.Entries, *e)
	}
	return m, skipped, err
}

// inParallel calls do with 0 to n-1 on all processors until one call fails.
func inParallel(n int, do func(i int) error) error {
	var next atomic.Int64
	var workers sync.WaitGroup
	errs := make(chan error, runtime.GOMAXPROCS(0))
	for range cap(errs) {
		workers.Go(func() {
			for len(errs) == 0 {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := do(i); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	workers.Wait()
	close(errs)
	return <-errs
}
