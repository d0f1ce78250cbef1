package executions

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/flowforge/flowforge/engine/workflow"
)

// sourceShown is the maximum size of source code on a page.
const sourceShown = 64 << 10

// errNoFile means that a package lacks the file of an operator, or that the file is not text.
var errNoFile = errors.New("the package has no such text")

// sourceText is the source code of an operator for pages; of a package, the text of its file.
func (x *executionView) sourceText(ctx context.Context, op *workflow.Operator) (text, kind string) {
	text, kind = codeText(op)
	if op.HTTP != nil || op.Code.File == "" || op.Code.Script != "" || len(op.Code.Command) > 0 {
		return text, kind
	}
	source, err := x.packageFile(ctx, op.Code.Package, op.Code.File)
	if err != nil { // its command is shown instead
		return text, kind
	}
	return source, op.Code.File
}

// packageFile reads the beginning of a file of a code package.
func (x *executionView) packageFile(ctx context.Context, ref, file string) (string, error) {
	blob, err := x.h.Artifacts.OpenBlob(ctx, x.ProjectID, strings.TrimPrefix(ref, "sha256:"))
	if err != nil {
		return "", err //nolint:wrapcheck // is not shown
	}
	defer func() { _ = blob.Close() }() // only read
	unpacked, err := gzip.NewReader(io.LimitReader(blob, workflow.MaxPackageBytes))
	if err != nil {
		return "", errNoFile
	}
	for files := tar.NewReader(unpacked); ; {
		entry, err := files.Next()
		if err != nil {
			return "", errNoFile
		}
		if entry.Typeflag != tar.TypeReg || path.Clean(entry.Name) != path.Clean(file) {
			continue
		}
		source, err := io.ReadAll(io.LimitReader(files, sourceShown))
		if err != nil || !utf8.Valid(source) {
			return "", errNoFile
		}
		if entry.Size > sourceShown {
			return string(source) + "\n…", nil
		}
		return string(source), nil
	}
}
