package runner

import (
	"errors"
	"io"
	"os"
)

const (
	tracebackFile = "traceback"
	maxTraceback  = 32 << 10 // bytes; the limit of the SDK
)

// traceback reads the description of the exception that ended the command. The task can write
// anything there, so the server checks it; a file that is too large is left out with a line in the
// log.
func (a *attempt) traceback() string {
	root, err := os.OpenRoot(a.paths.base)
	if err != nil {
		return ""
	}
	defer root.Close()
	file, info, err := openRegular(root, tracebackFile)
	if errors.Is(err, os.ErrNotExist) {
		return ""
	}
	if err == nil {
		defer file.Close()
	}
	if err != nil || info.Size() > maxTraceback {
		a.system(levelWarn, "The traceback of the exception could not be read as a file of at most 32 KiB. The log contains it.")
		return ""
	}
	content, err := io.ReadAll(io.LimitReader(file, maxTraceback))
	if err != nil {
		return ""
	}
	return string(content)
}
