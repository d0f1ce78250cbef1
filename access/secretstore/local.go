package secretstore

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/platform/units"
)

// files are files of the server below a folder. The system rejects paths and links that leave it.
type files struct{ dir string }

func (f files) check(context.Context) (string, error) {
	root, err := f.root()
	if err != nil {
		return "", err
	}
	return "The folder exists.", root.Close()
}

func (f files) root() (*os.Root, error) {
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return nil, fileFailure("the folder", err)
	}
	return root, nil
}

// fileFailure has no path of the server, which members of projects may not know.
func fileFailure(what string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fail(refused, "%s does not exist", what)
	case errors.Is(err, fs.ErrPermission):
		return fail(denied, "the server may not read %s", what)
	}
	return fail(refused, "%s cannot be read; it must be below the folder, without a link that leads out of it", what)
}

func (f files) read(_ context.Context, ref secret.Reference) (string, error) {
	root, err := f.root()
	if err != nil {
		return "", err
	}
	defer root.Close()
	info, err := root.Stat(ref.Path)
	if err != nil {
		return "", fileFailure("the file", err)
	}
	if !info.Mode().IsRegular() {
		return "", fail(refused, "it is not a file")
	}
	file, err := root.Open(ref.Path)
	if err != nil {
		return "", fileFailure("the file", err)
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, maxAnswer+1))
	if err != nil {
		return "", fileFailure("the file", err)
	}
	if len(raw) > maxAnswer {
		return "", fail(refused, "the file exceeds %d KiB", maxAnswer>>10)
	}
	return field(strings.TrimSuffix(string(raw), "\n"), ref.Key)
}

// environment are variables of the server with a prefix.
type environment struct {
	prefix  string
	environ []string
}

func (e environment) check(context.Context) (string, error) {
	n := 0
	for _, entry := range e.environ {
		if strings.HasPrefix(entry, e.prefix) {
			n++
		}
	}
	if n == 0 {
		return "", fail(refused, "no variable of the server begins with %s", e.prefix)
	}
	return units.Plural(n, "variable begins", "variables begin") + " with " + e.prefix + ".", nil
}

func (e environment) read(_ context.Context, ref secret.Reference) (string, error) {
	name := e.prefix + ref.Path + "="
	i := slices.IndexFunc(e.environ, func(entry string) bool { return strings.HasPrefix(entry, name) })
	if i < 0 || strings.Contains(ref.Path, "=") {
		return "", fail(refused, "the server has no such variable")
	}
	return field(strings.TrimPrefix(e.environ[i], name), ref.Key)
}
