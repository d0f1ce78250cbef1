package secret

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// variablePrefix is the prefix of variables that are secrets.
const variablePrefix = "FLOWFORGE_SECRET_"

// Environment provides the variables FLOWFORGE_SECRET_<NAME> of the server to every
// project: <NAME> is the secret's name in upper case, with "_" for "-" and ".".
type Environment struct{ values map[string]string }

// NewEnvironment returns the secrets in the environment of a process.
func NewEnvironment(environ []string) Environment {
	e := Environment{values: map[string]string{}}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if rest, ok := strings.CutPrefix(name, variablePrefix); ok && value != "" && ValidName(rest) {
			e.values[rest] = value
		}
	}
	return e
}

// Label implements Provider.
func (Environment) Label() string { return "the server's environment" }

// Names implements Provider: the names in lower case with "-".
func (e Environment) Names(context.Context, Owner) ([]string, error) {
	names := make([]string, 0, len(e.values))
	for name := range e.values {
		names = append(names, strings.ToLower(strings.ReplaceAll(name, "_", "-")))
	}
	slices.Sort(names)
	return names, nil
}

// Value implements Provider.
func (e Environment) Value(_ context.Context, _ Owner, name string) (string, error) {
	variable := strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(name))
	for _, key := range []string{variable, name} {
		if value, ok := e.values[key]; ok {
			return value, nil
		}
	}
	return "", ErrAbsent
}

// Files provides the files of a folder that an administrator maintains: <dir>/<name> to
// every project, <dir>/<namespace>/<name> to one. A trailing newline is not part of the
// value.
type Files struct{ dir string }

// NewFiles returns the files of dir, which need not exist.
func NewFiles(dir string) Files { return Files{dir: dir} }

// Label implements Provider.
func (Files) Label() string { return "a file of the server" }

// Names implements Provider.
func (f Files) Names(_ context.Context, p Owner) ([]string, error) {
	var names []string
	for _, dir := range f.dirs(p) {
		entries, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list secret files: %w", err)
		}
		for _, entry := range entries {
			if ValidName(entry.Name()) && entry.Type().IsRegular() && !slices.Contains(names, entry.Name()) {
				names = append(names, entry.Name())
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// Value implements Provider. Links are not followed.
func (f Files) Value(_ context.Context, p Owner, name string) (string, error) {
	if !ValidName(name) {
		return "", ErrAbsent
	}
	for _, dir := range f.dirs(p) {
		value, err := readSecret(dir, name)
		if !errors.Is(err, ErrAbsent) {
			return value, err
		}
	}
	return "", ErrAbsent
}

// dirs returns the folders of a project, its own first.
func (f Files) dirs(p Owner) []string {
	if p.Namespace == "" || !ValidName(p.Namespace) {
		return []string{f.dir}
	}
	return []string{filepath.Join(f.dir, p.Namespace), f.dir}
}

func readSecret(dir, name string) (string, error) {
	path := filepath.Join(dir, name)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return "", ErrAbsent
	}
	if err != nil {
		return "", fmt.Errorf("secret file: %w", err)
	}
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("secret file: %w", err)
	}
	defer file.Close()
	value, err := io.ReadAll(io.LimitReader(file, MaxValue+2))
	if err != nil {
		return "", fmt.Errorf("secret file: %w", err)
	}
	text := strings.TrimSuffix(string(value), "\n")
	if len(text) > MaxValue {
		return "", fmt.Errorf("the secret file %s has more than %d KiB", name, MaxValue>>10)
	}
	return text, nil
}
