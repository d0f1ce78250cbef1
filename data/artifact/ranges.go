package artifact

import (
	"context"
	"io"
	"sync"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/artifact/preview"
)

// Bounds of what a reader of ranges keeps.
const (
	rangeBlock  = 128 << 10
	rangeBlocks = 64
)

// Table reads a part of an artifact that is a table. It reads ranges of the file: the footer and
// the columns needed of Parquet, the rows needed of CSV. It returns apperr.Invalid for a file that
// is not such a table, and for a query that does not fit it.
func (s *Service) Table(ctx context.Context, a Artifact, q preview.Query) (preview.Table, error) {
	format, ok := TableFormat(a)
	if !ok {
		return preview.Table{}, notTable(a)
	}
	var t preview.Table
	err := s.withFile(ctx, a, func(f preview.File) (err error) {
		t, err = preview.Read(ctx, f, format, q)
		return err
	})
	return t, err
}

// withFile opens the bytes of an artifact for reading at any offset.
func (s *Service) withFile(ctx context.Context, a Artifact, use func(preview.File) error) error {
	if _, err := auth.AuthorizeIn(ctx, auth.ArtifactRead, a.ProjectID, absent(a.ID)); err != nil {
		return err
	}
	r, err := s.store.Open(ctx, a.SHA256)
	if err != nil {
		return err
	}
	defer r.Close()
	return use(preview.File{ReaderAt: newRanges(r), Size: r.Size()})
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
