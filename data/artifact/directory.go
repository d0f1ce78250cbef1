package artifact

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Directory is a folder: its files by path, each a blob of its own.
type Directory struct {
	Entries []Entry `json:"entries"`
}

// Entry is one file of a folder.
type Entry struct {
	Path   string `json:"path"` // with slashes, below the folder
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
	Mode   uint32 `json:"mode,omitempty"` // as fs.FileMode; of a symbolic link, the blob is its text
}

const (
	manifestBytes = 32 << 20
	shownEntries  = 10_000
)

// ReadDirectory reads the manifest of a folder. It returns apperr.Invalid for a path
// outside the folder or an invalid hash.
func ReadDirectory(r io.Reader) (Directory, error) {
	var d Directory
	if err := json.NewDecoder(io.LimitReader(r, manifestBytes)).Decode(&d); err != nil {
		return d, apperr.Wrap(apperr.Invalid, err, "The manifest of the folder is not valid.")
	}
	for _, e := range d.Entries {
		if !safePath(e.Path) || !ValidHash(e.SHA256) || e.Size < 0 {
			return Directory{}, apperr.New(apperr.Invalid, "The folder contains the path %q, which is not allowed.", e.Path)
		}
	}
	return d, nil
}

// safePath reports whether p is a path below a folder.
func safePath(p string) bool {
	return p != "" && p == path.Clean(p) && !path.IsAbs(p) && p != ".." && !strings.HasPrefix(p, "../") && !strings.ContainsAny(p, "\\\x00")
}

// Compose stores a folder of files that project has, and returns its manifest. It is for the
// engine, which counts no storage for the few bytes of a list.
func (s *Service) Compose(ctx context.Context, project uuid.UUID, d Directory) (Blob, error) {
	manifest, err := json.Marshal(d)
	if err != nil {
		return Blob{}, fmt.Errorf("write the list of a folder: %w", err)
	}
	files := make([]string, len(d.Entries))
	for i, e := range d.Entries {
		if !safePath(e.Path) {
			return Blob{}, apperr.New(apperr.Invalid, "The folder lists the file %q, whose path is not safe.", e.Path)
		}
		files[i] = e.SHA256
	}
	if err := mayRead(ctx, project, "of the folder"); err != nil {
		return Blob{}, err
	}
	if err := s.hasAll(ctx, project, files); err != nil {
		return Blob{}, err
	}
	blob, err := s.store.Put(ctx, bytes.NewReader(manifest), "")
	if err != nil {
		return Blob{}, err
	}
	return blob, s.addReference(ctx, project, blob, func(*db.Queries, int64) error { return nil })
}

// FileOf returns the file of a folder artifact at a path below the folder, as an artifact with
// its bytes. It returns apperr.NotFound when the folder has no such file.
func (s *Service) FileOf(ctx context.Context, a Artifact, name string) (Artifact, error) {
	absent := apperr.New(apperr.NotFound, "%s has no file %q.", a.Name, name)
	if a.MediaType != DirectoryMediaType {
		return Artifact{}, absent
	}
	manifest, err := s.OpenBlob(ctx, a.ProjectID, a.SHA256)
	if err != nil {
		return Artifact{}, err
	}
	defer manifest.Close()
	d, err := ReadDirectory(manifest)
	if err != nil {
		return Artifact{}, err
	}
	i := slices.IndexFunc(d.Entries, func(e Entry) bool { return e.Path == name })
	if i < 0 {
		return Artifact{}, absent
	}
	// Anyone can upload a manifest that lists the bytes of another project.
	file, err := s.blobOf(ctx, a.ProjectID, d.Entries[i].SHA256)
	if apperr.Is(err, apperr.NotFound) {
		return Artifact{}, absent
	}
	a.SHA256, a.Size, a.Filename, a.MediaType = file.SHA256, file.Size, path.Base(name), MediaTypeOf("", strings.ToLower(name), "")
	return a, err
}

func previewDirectory(r io.Reader) (Preview, error) {
	d, err := ReadDirectory(r)
	if err != nil {
		return Preview{}, err
	}
	p := Preview{Kind: PreviewDirectory, Directory: &d}
	if len(d.Entries) > shownEntries {
		p.Truncated = true
		d.Entries = d.Entries[:shownEntries]
	}
	return p, nil
}
