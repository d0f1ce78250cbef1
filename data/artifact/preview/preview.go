// Package preview reads the parts of a file that a page shows: rows and statistics of tables,
// slices of arrays, lists of tensors and of archive entries. It reads ranges, never a whole file,
// and every reader has bounds for memory, work and time, because the files come from tasks. It is
// pure: files are an io.ReaderAt.
package preview

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/flowforge/flowforge/apperr"
)

// File is the bytes of an artifact.
type File struct {
	io.ReaderAt

	Size int64
}

// bad is an error about the content of a file.
func bad(format string, args ...any) error {
	return apperr.New(apperr.Invalid, format, args...)
}

// read fills p from offset at. A file that ends before is cut off.
func (f File) read(p []byte, at int64, what string) error {
	if at < 0 || at > f.Size || int64(len(p)) > f.Size-at {
		return bad("The file ends before %s: it has %d bytes, but byte %d is needed.", what, f.Size, at+int64(len(p)))
	}
	if n, err := f.ReadAt(p, at); n < len(p) {
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("read %s: %w", what, err)
	}
	return nil
}

// recovered turns a panic of a decoder into an error about the file.
func recovered(err *error, what string) {
	if r := recover(); r != nil {
		*err = apperr.Wrap(apperr.Invalid, fmt.Errorf("panic: %v", r), "The "+what+" is damaged and cannot be read.")
	}
}

// within specifies which part of a file an error is about.
func within(err error, format string, args ...any) error {
	part := fmt.Sprintf(format, args...)
	if apperr.Is(err, apperr.Invalid) {
		return bad("%s: %s", part, apperr.MessageOf(err))
	}
	return fmt.Errorf("%s: %w", part, err)
}

// budget bounds the work of one reading.
type budget struct {
	ctx   context.Context
	rows  int64 // left
	bytes int64 // left, decoded
	until time.Time
	tick  int
}

// clockEvery is how many rows are read between two checks of the clock.
const clockEvery = 256

// late reports whether the time is over.
func (b *budget) late() bool {
	return b.ctx.Err() != nil || !b.until.IsZero() && time.Now().After(b.until)
}

// spent reports whether one of the bounds is reached. It counts one row.
func (b *budget) spent() bool {
	if b.tick++; b.tick%clockEvery == 0 && b.late() {
		b.rows = 0
	}
	if b.rows <= 0 || b.bytes <= 0 {
		return true
	}
	b.rows--
	return false
}
