package artifact

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact/preview"
)

// Bounds of what a reader of ranges keeps.
const (
	rangeBlock  = 128 << 10
	rangeBlocks = 64
)

// Table reads a part of an artifact, or of a file in it, that is a table. It reads ranges of the
// file: the footer and the columns needed of Parquet, the rows needed of CSV. It returns
// apperr.Invalid for a file that is not such a table, and for a query that does not fit it.
func (s *Service) Table(ctx context.Context, a Artifact, path string, q preview.Query) (preview.Table, error) {
	var t preview.Table
	err := s.withPart(ctx, a, path, func(part Part, f preview.File) (err error) {
		format, ok := TableFormat(part.Artifact)
		if !ok {
			return notTable(part.Artifact)
		}
		if part.Cut && format == "parquet" {
			return apperr.New(apperr.Invalid, "%s is larger than %d MiB unpacked. Download the archive to open it.", part.file(), preview.EntryBytes>>20)
		}
		t, err = preview.Read(ctx, f, format, q)
		return err
	})
	return t, err
}

// Profile reads an artifact that is a table from beginning to end, at most for limit. It returns
// apperr.Invalid for a file that is not such a table.
func (s *Service) Profile(ctx context.Context, a Artifact, limit time.Duration) (preview.Profile, error) {
	format, ok := TableFormat(a)
	if !ok {
		return preview.Profile{}, notTable(a)
	}
	var p preview.Profile
	err := s.openPart(ctx, a, "", func(_ Part, f preview.File, leave func()) (err error) {
		leave() // a profile is made by a job, in bounded memory
		p, err = preview.ReadProfile(ctx, f, format, limit)
		return err
	})
	return p, err
}

// Part is an artifact, or a file in it as an artifact with its own name, media type and size.
type Part struct {
	Artifact

	Cut bool // only the first preview.EntryBytes bytes of an entry of an archive are there
}

// file is the name of the file.
func (p Part) file() string { return cmp.Or(p.Filename, p.Name) }

// enter waits until fewer than previewsAtOnce previews are made; leave ends this one.
func (s *Service) enter(ctx context.Context) (leave func(), err error) {
	select {
	case s.previews <- struct{}{}:
		return sync.OnceFunc(func() { <-s.previews }), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// withPart opens an artifact, or the file at a path of a folder or an archive, for a preview that
// reads at any offset.
func (s *Service) withPart(ctx context.Context, a Artifact, name string, use func(Part, preview.File) error) error {
	return s.openPart(ctx, a, name, func(part Part, f preview.File, _ func()) error { return use(part, f) })
}

// openPart opens an artifact, or the file at a path of a folder or an archive. It counts as a preview
// until use returns or calls leave.
func (s *Service) openPart(ctx context.Context, a Artifact, name string, use func(part Part, f preview.File, leave func()) error) error {
	if _, err := auth.AuthorizeIn(ctx, auth.ArtifactRead, a.ProjectID, absent(a.ID)); err != nil {
		return err
	}
	if name != "" && a.MediaType == DirectoryMediaType {
		var err error
		if a, err = s.FileOf(ctx, a, name); err != nil {
			return err
		}
		name = ""
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	r, err := s.store.Open(ctx, a.SHA256)
	if err != nil {
		return err
	}
	defer r.Close()
	part, f := Part{Artifact: a}, preview.File{ReaderAt: newRanges(r), Size: r.Size()}
	if name != "" {
		if part, f, err = entryOf(ctx, part, f, name); err != nil {
			return err
		}
	}
	return use(part, f, leave)
}

// OpenFile opens the file at a path of a folder or an archive. The content is valid until use
// returns. It returns apperr.Invalid or apperr.NotFound when there is no such file.
func (s *Service) OpenFile(ctx context.Context, a Artifact, name string, use func(Part, io.ReadSeeker) error) error {
	return s.openPart(ctx, a, name, func(part Part, f preview.File, leave func()) error {
		leave() // the reader may be slow
		return use(part, io.NewSectionReader(f, 0, f.Size))
	})
}

// drawing is how many thumbnails one server makes at a time, each with up to 128 MiB of memory.
const drawing = 2

// Thumbnail draws an image, or an image in a folder or an archive, with at most
// preview.ThumbnailSide pixels on each side, as PNG. It returns apperr.Invalid for what is not a
// PNG, JPEG or GIF image of at most 16 megapixels.
func (s *Service) Thumbnail(ctx context.Context, a Artifact, name string) ([]byte, error) {
	var out []byte
	err := s.withPart(ctx, a, name, func(_ Part, f preview.File) error {
		select {
		case s.draws <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		defer func() { <-s.draws }()
		var err error
		out, err = preview.Thumbnail(f)
		return err
	})
	return out, err
}

// entryOf opens a file of an archive.
func entryOf(ctx context.Context, part Part, f preview.File, name string) (Part, preview.File, error) {
	format := preview.Container(preview.Format(f, part.file(), part.MediaType))
	if format == "" {
		return part, f, apperr.New(apperr.NotFound, "%s is not a folder or an archive, so it has no file %q.", part.Name, name)
	}
	inner, cut, err := preview.OpenEntry(ctx, f, format, part.file(), name)
	if err != nil {
		return part, f, err
	}
	head := make([]byte, min(512, inner.Size))
	n, _ := inner.ReadAt(head, 0)
	part.Cut, part.Size, part.Filename = cut, inner.Size, path.Base(name)
	part.MediaType = MediaTypeOf("", strings.ToLower(name), http.DetectContentType(head[:n]))
	return part, inner, nil
}

// ranges reads a blob at any offset. It keeps the last blocks, because a remote store answers
// many small reads slowly.
type ranges struct {
	mu     sync.Mutex
	r      *Reader
	blocks map[int64][]byte
	order  []int64
}

func newRanges(r *Reader) *ranges { return &ranges{r: r, blocks: map[int64][]byte{}} }

// ReadAt implements io.ReaderAt.
func (x *ranges) ReadAt(p []byte, off int64) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := 0
	for n < len(p) {
		at := off + int64(n)
		if at >= x.r.Size() {
			return n, io.EOF
		}
		if len(p)-n >= 2*rangeBlock { // a long read needs no blocks
			m, err := x.fill(p[n:min(len(p), n+int(min(int64(len(p)-n), x.r.Size()-at)))], at)
			n += m
			if err != nil {
				return n, err
			}
			continue
		}
		block, err := x.block(at / rangeBlock)
		if err != nil {
			return n, err
		}
		n += copy(p[n:], block[at%rangeBlock:])
	}
	return n, nil
}

func (x *ranges) block(i int64) ([]byte, error) {
	if b, ok := x.blocks[i]; ok {
		return b, nil
	}
	b := make([]byte, min(rangeBlock, x.r.Size()-i*rangeBlock))
	if _, err := x.fill(b, i*rangeBlock); err != nil {
		return nil, err
	}
	if len(x.order) == rangeBlocks {
		delete(x.blocks, x.order[0])
		x.order = x.order[1:]
	}
	x.blocks[i], x.order = b, append(x.order, i)
	return b, nil
}

// fill reads p from an offset.
func (x *ranges) fill(p []byte, at int64) (int, error) {
	if direct, ok := x.r.source.(io.ReaderAt); ok {
		return direct.ReadAt(p, at) //nolint:wrapcheck // io.EOF is compared by readers
	}
	if _, err := x.r.Seek(at, io.SeekStart); err != nil {
		return 0, err
	}
	return io.ReadFull(x.r, p) //nolint:wrapcheck // wrapped by the store
}
