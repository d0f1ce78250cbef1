package child

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/flowforge/flowforge/apperr"
)

// maxTail is how much of a log file an error message quotes.
const maxTail = 2000

// Explain converts a failure in dir to a one-line error for the terminal. output is the
// output of the engine, if any.
func Explain(err error, what, dir, output string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) ||
		strings.Contains(output, "No space left on device") || strings.Contains(output, "Disk quota exceeded"):
		return apperr.New(apperr.Unavailable, "%s cannot start: the disk that holds %s is full", what, dir)
	case errors.Is(err, fs.ErrPermission):
		return apperr.Wrap(apperr.Unavailable, err, what+" cannot start: no permission in "+dir)
	}
	if _, described := errors.AsType[*apperr.Error](err); described {
		return err
	}
	if line := lastLine(output); line != "" {
		return apperr.Wrap(apperr.Unavailable, errors.New(line), what+" cannot start in "+dir)
	}
	return apperr.Wrap(apperr.Unavailable, err, what+" cannot start in "+dir)
}

// Tail returns the end of the file at path, from offset on: what a child wrote
// to its log since it was started.
func Tail(path string, offset int64) string {
	b, err := os.ReadFile(path)
	if err != nil || offset > int64(len(b)) {
		return ""
	}
	b = b[offset:]
	return string(b[max(0, len(b)-maxTail):])
}

// lastLine returns the line with the cause: the last fatal one, else the last.
func lastLine(output string) string {
	var last, fatal string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		last = line
		if strings.Contains(line, "FATAL") || strings.Contains(line, "PANIC") || strings.Contains(line, "error:") {
			fatal = line
		}
	}
	if fatal != "" {
		return fatal
	}
	return last
}

// OpenLog opens the log file of a child for appending, and returns the offset of its
// new part. It renames a log larger than limit to path.1.
func OpenLog(path string, limit int64) (f *os.File, offset int64, err error) {
	if info, err := os.Stat(path); err == nil && info.Size() > limit {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, 0, err
		}
	}
	f, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}
