// Package source reads the files of code packages for pages, and highlights source code.
package source

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/views"
)

// Limits of what a page reads of a package.
const (
	Shown     = 128 << 10 // bytes of a file whose text a page shows
	maxListed = 500       // files in the list of a package
	maxRead   = 128 << 20 // unpacked bytes, so that a package cannot keep the server busy
)

// Packages reads code packages. It is safe for concurrent use.
type Packages struct{ Artifacts *artifact.Service }

// File is a file of a package.
type File struct {
	Name string
	Size int64 // bytes
}

// Package is a code package, as far as a page shows it.
type Package struct {
	Files []File // by name, at most maxListed
	Count int    // of all files
	Size  int64  // bytes of all files
	Cut   bool   // the package is larger than maxRead: Files, Count and Size are of its beginning
	Found bool   // the wanted file exists
	Text  string // of the wanted file; "" if it is not text or larger than Shown
	Shown bool   // Text is complete
}

// Read lists a package, "sha256:<hex>" of a tar.gz, and reads the text of one of its files.
func (p Packages) Read(ctx context.Context, project uuid.UUID, ref, selected string) (Package, error) {
	var found Package
	err := p.walk(ctx, project, ref, func(f File, content io.Reader) error {
		found.Count++
		found.Size += f.Size
		if len(found.Files) < maxListed || f.Name == selected && !found.Found {
			found.Files = append(found.Files, f)
		}
		if f.Name != selected || found.Found {
			return nil
		}
		found.Found = true
		if f.Size > Shown {
			return nil
		}
		text, err := io.ReadAll(content)
		if found.Shown = err == nil && utf8.Valid(text) && !bytes.ContainsRune(text, 0); found.Shown {
			found.Text = strings.ReplaceAll(string(text), "\r\n", "\n")
		}
		return err
	})
	if errors.Is(err, errCut) {
		found.Cut, err = true, nil
	}
	slices.SortFunc(found.Files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return found, err
}

// Text returns the text of a file, or apperr.NotFound if there is none that a page shows.
func (p Packages) Text(ctx context.Context, project uuid.UUID, ref, name string) (string, error) {
	var text string
	err := p.find(ctx, project, ref, name, func(_ File, content io.Reader) error {
		raw, err := io.ReadAll(io.LimitReader(content, Shown+1))
		if err == nil && (len(raw) > Shown || !utf8.Valid(raw) || bytes.ContainsRune(raw, 0)) {
			return apperr.New(apperr.NotFound, "The file %s cannot be shown as text.", name)
		}
		text = strings.ReplaceAll(string(raw), "\r\n", "\n")
		return err
	})
	return text, err
}

// Function returns the highlighted lines of a function, or apperr.NotFound.
func (p Packages) Function(ctx context.Context, project uuid.UUID, ref string, at workflow.Place) ([]views.SourceLine, error) {
	text, err := p.Text(ctx, project, ref, at.File)
	if err != nil {
		return nil, err
	}
	lines := Lines(at.File, text, 1)
	if at.First < 1 || at.Last < at.First || at.Last > len(lines) {
		return nil, apperr.New(apperr.NotFound, "The file %s has no lines %d to %d.", at.File, at.First, at.Last)
	}
	return lines[at.First-1 : at.Last], nil
}

// Send calls send with a file of a package, or returns apperr.NotFound.
func (p Packages) Send(ctx context.Context, project uuid.UUID, ref, name string, send func(File, io.Reader) error) error {
	return p.find(ctx, project, ref, name, send)
}

// Open returns the packed bytes of a package.
func (p Packages) Open(ctx context.Context, project uuid.UUID, ref string) (*artifact.Reader, error) {
	return p.Artifacts.OpenBlob(ctx, project, strings.TrimPrefix(ref, "sha256:"))
}

var (
	errFound = errors.New("the file was found")
	errCut   = errors.New("the package is too large to be shown")
)

func (p Packages) find(ctx context.Context, project uuid.UUID, ref, name string, use func(File, io.Reader) error) error {
	err := p.walk(ctx, project, ref, func(f File, content io.Reader) error {
		if f.Name != name {
			return nil
		}
		if err := use(f, content); err != nil {
			return err
		}
		return errFound
	})
	switch {
	case errors.Is(err, errFound):
		return nil
	case err == nil:
		return apperr.New(apperr.NotFound, "The code package has no file %s.", name)
	case errors.Is(err, errCut):
		return apperr.New(apperr.NotFound, "The first %d MiB of the code package have no file %s. Download the package.", maxRead>>20, name)
	}
	return err
}

// walk calls visit for the regular files of a package, until it returns an error.
func (p Packages) walk(ctx context.Context, project uuid.UUID, ref string, visit func(File, io.Reader) error) error {
	blob, err := p.Open(ctx, project, ref)
	if err != nil {
		return err
	}
	defer func() { _ = blob.Close() }() // only read
	unpacked, err := gzip.NewReader(blob)
	if err != nil {
		return errUnreadable
	}
	bounded := &io.LimitedReader{R: unpacked, N: maxRead}
	for files := tar.NewReader(bounded); ; {
		entry, err := files.Next()
		switch {
		case err != nil && bounded.N <= 0: // the bytes end at the bound, which can be between two files
			return errCut
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return errUnreadable
		case ctx.Err() != nil:
			return ctx.Err()
		case entry.Typeflag != tar.TypeReg || sparse(entry):
			continue
		}
		if err := visit(File{Name: path.Clean(entry.Name), Size: entry.Size}, files); err != nil {
			if bounded.N <= 0 && !errors.Is(err, errFound) {
				return errCut
			}
			return err
		}
	}
}

// sparse reports whether a file has more bytes than the package contains.
func sparse(entry *tar.Header) bool {
	for name := range entry.PAXRecords {
		if strings.HasPrefix(name, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// errUnreadable is for a package that is not a tar.gz file.
var errUnreadable = apperr.New(apperr.NotFound, "The code package is not a tar.gz file.")
