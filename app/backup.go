package app

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/flowforge/flowforge/platform/release"
)

// manifestName is the first entry of a backup. It tells a backup from any other archive.
const manifestName = "flowforge-backup.json"

// manifest describes a backup.
type manifest struct {
	Version string    `json:"version"` // of the program that wrote it
	Created time.Time `json:"created"`
}

// skippedInBackup are the paths of a data directory that describe processes of one run:
// locks, sockets, and the work of attempts, which the next server retries.
func skippedInBackup() []string {
	return []string{"server.lock", "run", "runner", "postgres/lock", "postgres/run", "postgres/data/postmaster.pid", "clickhouse/lock"}
}

// BackupSummary counts what a backup or a restore wrote.
type BackupSummary struct {
	Files int
	Bytes int64 // of the files, before compression
}

// Backup writes the data directory to file, a compressed tar archive: databases,
// artifacts, keys, and logs that wait for ClickHouse. It takes the lock of the directory,
// so it fails while a server runs there. An existing file is an error. The file appears
// under its name when it is complete.
func Backup(ctx context.Context, dataDir, file string) (s BackupSummary, err error) {
	root, err := filepath.Abs(dataDir)
	if err != nil {
		return s, fmt.Errorf("data directory: %w", err)
	}
	if _, err := os.Stat(filepath.Join(root, "postgres", "initialised")); err != nil {
		return s, fmt.Errorf("%s has no database: set FLOWFORGE_DATA_DIR to the directory of a server that has run", root)
	}
	if _, err := os.Lstat(file); err == nil {
		return s, fmt.Errorf("%s exists: choose another name", file)
	}
	lock, err := lockDir(filepath.Join(root, "server.lock"), root)
	if err != nil {
		return s, err
	}
	defer lock.release()
	partial, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".partial-*")
	if err != nil {
		return s, fmt.Errorf("write the backup: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write the backup: %w", errors.Join(err, partial.Close(), os.Remove(partial.Name())))
		}
	}()
	if s, err = writeBackup(ctx, partial, root); err != nil {
		return s, err
	}
	if err = errors.Join(partial.Sync(), partial.Close()); err != nil {
		return s, err
	}
	return s, os.Rename(partial.Name(), file)
}

func writeBackup(ctx context.Context, w io.Writer, root string) (s BackupSummary, err error) {
	packed, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return s, err
	}
	archive := tar.NewWriter(packed)
	description, err := json.Marshal(manifest{Version: release.Describe(), Created: time.Now().UTC()})
	if err != nil {
		return s, err
	}
	if err := archive.WriteHeader(&tar.Header{Name: manifestName, Mode: 0o600, Size: int64(len(description))}); err != nil {
		return s, err
	}
	if _, err := archive.Write(description); err != nil {
		return s, err
	}
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil || relative == "." {
			return err
		}
		if slices.Contains(skippedInBackup(), relative) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		n, err := addToBackup(archive, name, relative, d)
		if n >= 0 {
			s.Files, s.Bytes = s.Files+1, s.Bytes+n
		}
		return err
	})
	return s, errors.Join(err, archive.Close(), packed.Close())
}

// addToBackup adds an entry and returns the size of a regular file, or -1 for anything
// else. Sockets and pipes belong to processes and are left out.
func addToBackup(archive *tar.Writer, name, relative string, d fs.DirEntry) (int64, error) {
	info, err := d.Info()
	if err != nil {
		return -1, err
	}
	target := ""
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		if target, err = os.Readlink(name); err != nil {
			return -1, err
		}
	case !info.IsDir() && !info.Mode().IsRegular():
		return -1, nil
	}
	header, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return -1, err
	}
	header.Name, header.Uname, header.Gname = filepath.ToSlash(relative), "", ""
	if info.IsDir() {
		header.Name += "/"
	}
	if err := archive.WriteHeader(header); err != nil || !info.Mode().IsRegular() {
		return -1, err
	}
	f, err := os.Open(name)
	if err != nil {
		return -1, err
	}
	n, err := io.Copy(archive, f)
	return n, errors.Join(err, f.Close())
}

// Restore writes the backup in file to dataDir, which must be missing or empty. A file
// that is damaged, or that is not a backup, leaves the directory empty.
func Restore(ctx context.Context, file, dataDir string) (s BackupSummary, err error) {
	f, err := os.Open(file)
	if err != nil {
		return s, fmt.Errorf("read the backup: %w", err)
	}
	defer func() { _ = f.Close() }()
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return s, fmt.Errorf("data directory: %w", err)
	}
	switch entries, err := os.ReadDir(dataDir); {
	case err != nil:
		return s, fmt.Errorf("data directory: %w", err)
	case len(entries) > 0:
		return s, fmt.Errorf("%s is not empty: move it away, or set FLOWFORGE_DATA_DIR to another directory", dataDir)
	}
	root, err := os.OpenRoot(dataDir)
	if err != nil {
		return s, fmt.Errorf("data directory: %w", err)
	}
	defer func() { _ = root.Close() }()
	if s, err = readBackup(ctx, f, root); err != nil {
		return s, errors.Join(fmt.Errorf("restore %s: %w", file, err), empty(dataDir))
	}
	return s, nil
}

func readBackup(ctx context.Context, r io.Reader, root *os.Root) (s BackupSummary, err error) {
	packed, err := gzip.NewReader(r)
	if err != nil {
		return s, fmt.Errorf("the file is not a backup of FlowForge: %w", err)
	}
	archive := tar.NewReader(packed)
	if first, err := archive.Next(); err != nil || first.Name != manifestName {
		return s, errors.New("the file is not a backup of FlowForge: it does not begin with " + manifestName)
	}
	var dirs []*tar.Header
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return s, err
		}
		header.Name = path.Clean(header.Name)
		n, err := restoreEntry(root, header, archive)
		if err != nil {
			return s, fmt.Errorf("%s: %w", header.Name, err)
		}
		if header.Typeflag == tar.TypeDir {
			dirs = append(dirs, header)
		} else if header.Typeflag == tar.TypeReg {
			s.Files, s.Bytes = s.Files+1, s.Bytes+n
		}
	}
	if _, err := io.Copy(io.Discard, packed); err != nil { //nolint:gosec // keeps nothing; it verifies the checksum of the file
		return s, err
	}
	for _, d := range slices.Backward(dirs) { // last: a directory without write permission takes no files
		if err := restoreMode(root, d); err != nil {
			return s, fmt.Errorf("%s: %w", d.Name, err)
		}
	}
	return s, nil
}

func restoreEntry(root *os.Root, h *tar.Header, content io.Reader) (int64, error) {
	switch h.Typeflag {
	case tar.TypeDir:
		return 0, root.MkdirAll(h.Name, 0o700)
	case tar.TypeSymlink:
		if err := root.Symlink(h.Linkname, h.Name); err != nil {
			return 0, err
		}
		return 0, restoreOwner(root, h)
	case tar.TypeReg:
		f, err := root.OpenFile(h.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return 0, err
		}
		n, err := io.Copy(f, content)
		if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
			return n, err
		}
		return n, restoreMode(root, h)
	default:
		return 0, fmt.Errorf("an entry of type %q is not part of a backup", h.Typeflag)
	}
}

func restoreMode(root *os.Root, h *tar.Header) error {
	return errors.Join(restoreOwner(root, h), root.Chmod(h.Name, h.FileInfo().Mode().Perm()), root.Chtimes(h.Name, h.ModTime, h.ModTime))
}

// restoreOwner sets the owner where this process may: PostgreSQL refuses to run as root,
// so a server that runs as root gives the database to another account.
func restoreOwner(root *os.Root, h *tar.Header) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return root.Lchown(h.Name, h.Uid, h.Gid)
}

// empty removes what is in dir.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}

// OutsideBackup names what the settings keep outside of the data directory, and how to
// back it up.
func OutsideBackup(c Config) []string {
	var outside []string
	if c.DatabaseURL != "" {
		outside = append(outside, "PostgreSQL (FLOWFORGE_DATABASE_URL): back it up with pg_dump")
	}
	if c.ClickHouseURL != "" {
		outside = append(outside, "ClickHouse (FLOWFORGE_CLICKHOUSE_URL): back it up with BACKUP DATABASE")
	}
	switch {
	case strings.HasPrefix(c.Artifacts.Location, "s3://"):
		outside = append(outside, "artifacts in "+c.Artifacts.Location+": use the versions and replication of the object store")
	case c.Artifacts.Location != "":
		outside = append(outside, "artifacts in "+c.Artifacts.Location+": copy the folder")
	}
	if c.SecretsDir != "" {
		outside = append(outside, "keys in "+c.SecretsDir+": copy the folder")
	}
	return outside
}
