package runner

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// pack writes the file or folder base in root to a new archive. Names in the archive begin
// with base, as in the archives of Argo.
func pack(ctx context.Context, root *os.Root, base, to string, target *flowforgev1.BucketTarget) error {
	file, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if target.Archive == flowforgev1.Archive_ARCHIVE_ZIP {
		err = packZip(ctx, root, base, file)
	} else {
		level := gzip.DefaultCompression
		if target.Level != nil {
			level = int(*target.Level)
		}
		err = packTar(ctx, root, base, file, level)
	}
	return errors.Join(err, file.Close())
}

func packTar(ctx context.Context, root *os.Root, base string, to io.Writer, level int) error {
	zipped, err := gzip.NewWriterLevel(to, level)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(zipped)
	err = fs.WalkDir(root.FS(), base, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() && !entry.Type().IsRegular() && entry.Type() != fs.ModeSymlink {
			return err
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		return packEntry(root, name, entry, archive)
	})
	return errors.Join(err, archive.Close(), zipped.Close())
}

func packEntry(root *os.Root, name string, entry fs.DirEntry, archive *tar.Writer) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	var target string
	if entry.Type() == fs.ModeSymlink {
		if target, err = root.Readlink(name); err != nil {
			return err
		}
	}
	header, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return err
	}
	header.Name = name
	if entry.IsDir() {
		header.Name += "/"
	}
	if err := archive.WriteHeader(header); err != nil || !entry.Type().IsRegular() {
		return err
	}
	return copyOut(root, name, archive)
}

func packZip(ctx context.Context, root *os.Root, base string, to io.Writer) error {
	archive := zip.NewWriter(to)
	err := fs.WalkDir(root.FS(), base, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		part, err := archive.Create(name)
		if err != nil {
			return err
		}
		return copyOut(root, name, part)
	})
	return errors.Join(err, archive.Close())
}

func copyOut(root *os.Root, name string, to io.Writer) error {
	file, _, err := openRegular(root, name)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(to, file)
	return err
}

// unpackInput replaces the file at name by what is packed in it: the only file or folder of
// the archive, or a folder with all of them. A file that is no tar.gz archive stays as it
// is; one that is no zip archive is an error.
func unpackInput(name string, archive flowforgev1.Archive) error {
	info, err := os.Stat(name)
	if err != nil || info.IsDir() {
		return err
	}
	var extract func(file *os.File, root *os.Root) error
	switch archive {
	case flowforgev1.Archive_ARCHIVE_TAR:
		if isTar, err := isTarGz(name); !isTar || err != nil {
			return err
		}
		extract = extractTar
	case flowforgev1.Archive_ARCHIVE_ZIP:
		extract = extractZip
	default:
		return nil
	}
	folder := name + ".unpacked"
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := extractTo(folder, name, extract); err != nil {
		return fmt.Errorf("unpack the archive: %w", err)
	}
	if err := os.Remove(name); err != nil {
		return err
	}
	entries, err := os.ReadDir(folder)
	if err == nil && len(entries) == 1 && entries[0].Type()&os.ModeSymlink != 0 {
		return errors.New("unpack the archive: it contains only a link")
	}
	if err == nil && len(entries) == 1 {
		return os.Rename(filepath.Join(folder, entries[0].Name()), name)
	}
	if err == nil {
		err = os.Rename(folder, name)
	}
	return err
}

func extractTo(folder, name string, extract func(file *os.File, root *os.Root) error) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	return extract(file, root)
}

// isTarGz reports whether a file begins like a tar.gz archive.
func isTarGz(name string) (bool, error) {
	file, err := os.Open(name)
	if err != nil {
		return false, err
	}
	defer file.Close()
	zipped, err := gzip.NewReader(file)
	if err != nil {
		return false, nil
	}
	_, err = tar.NewReader(zipped).Next()
	return err == nil, nil
}

func extractTar(file *os.File, root *os.Root) error {
	zipped, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	archive := tar.NewReader(zipped)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := path.Clean(header.Name)
		switch {
		case name == ".":
		case header.Typeflag == tar.TypeDir:
			err = root.MkdirAll(name, 0o700|header.FileInfo().Mode().Perm())
		case header.Typeflag == tar.TypeReg:
			err = copyIn(root, name, header.FileInfo().Mode().Perm(), archive)
		case header.Typeflag == tar.TypeSymlink:
			if err = root.MkdirAll(path.Dir(name), 0o755); err == nil {
				err = root.Symlink(header.Linkname, name)
			}
		case header.Typeflag == tar.TypeLink:
			err = root.Link(path.Clean(header.Linkname), name)
		}
		if err != nil {
			return err
		}
	}
}

func extractZip(file *os.File, root *os.Root) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	archive, err := zip.NewReader(file, info.Size())
	if err != nil {
		return err
	}
	for _, f := range archive.File {
		name := path.Clean(f.Name)
		if f.FileInfo().IsDir() {
			if err := root.MkdirAll(name, 0o755); err != nil {
				return err
			}
			continue
		}
		content, err := f.Open()
		if err != nil {
			return err
		}
		mode := f.Mode().Perm()
		if mode == 0 { // archives of Argo have none
			mode = 0o644
		}
		if err := errors.Join(copyIn(root, name, mode, content), content.Close()); err != nil {
			return err
		}
	}
	return nil
}

func copyIn(root *os.Root, name string, mode fs.FileMode, content io.Reader) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}
