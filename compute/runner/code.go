package runner

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// mostKept bounds the files of a code package that a slot keeps. Larger packages are removed and
// copied as a whole.
const mostKept = 16

// slotCode are the files with the code of an attempt in its working directory. A slot keeps them
// for the next attempt with the same key, which writes them again: to create and to remove a file
// takes longer than everything else that the runner does for a short attempt.
type slotCode struct {
	dir    string
	source string                 // the unpacked package; "": none
	key    string                 // names the files, not their content
	kept   map[string]fs.FileInfo // of the previous attempt, not written again yet
	files  map[string]fs.FileInfo // of this attempt
}

// codeKey returns the key of the files that an attempt needs; "": none.
func codeKey(spec *flowforgev1.AttemptSpec) string {
	script := ""
	if spec.GetProcess().GetScript() != "" {
		script = scriptExtension(spec.GetProcess())
	}
	return spec.PackageSha256 + script
}

// write writes a file. A kept file is overwritten; no other file may exist.
func (c *slotCode) write(name string, mode fs.FileMode, content io.Reader) error {
	flag := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if c.kept[name] != nil {
		flag = os.O_WRONLY | syscall.O_NOFOLLOW
		delete(c.kept, name)
	}
	file, err := os.OpenFile(filepath.Join(c.dir, name), flag, mode)
	if err != nil {
		return err
	}
	size, err := io.Copy(file, content)
	err = errors.Join(err, file.Truncate(size))
	info, statErr := file.Stat()
	if err = errors.Join(err, statErr, file.Close()); err != nil {
		return err
	}
	if c.files == nil {
		c.files = make(map[string]fs.FileInfo)
	}
	c.files[name] = info
	return nil
}

// copyFrom copies a package into the working directory.
func (c *slotCode) copyFrom(dir string) error {
	c.source = dir
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	flat := len(entries) <= mostKept
	for _, entry := range entries {
		flat = flat && !entry.IsDir()
	}
	if !flat {
		return os.CopyFS(c.dir, os.DirFS(dir))
	}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if err := c.write(entry.Name(), 0o666|info.Mode().Perm(), bytes.NewReader(content)); err != nil {
			return err
		}
	}
	return nil
}

// only reports whether the working directory contains nothing but unchanged files of this attempt.
func (c *slotCode) only() bool {
	names, ok := content(c.dir, len(c.files)+1) // one more would be a file of the attempt
	present := make(map[string]fs.FileInfo, len(names))
	for _, name := range names {
		ok = ok && c.unchanged(name)
		present[name] = c.files[name]
	}
	c.files = present
	return ok
}

// unchanged reports whether a file is still as it was given to this attempt. The time of its last
// change covers content, permissions and links.
func (c *slotCode) unchanged(name string) bool {
	written := c.files[name]
	info, err := os.Lstat(filepath.Join(c.dir, name))
	if written == nil || err != nil || !info.Mode().IsRegular() {
		return false
	}
	now, before := *info.Sys().(*syscall.Stat_t), *written.Sys().(*syscall.Stat_t)
	now.Atim, now.Blocks = before.Atim, before.Blocks // reading and the disk change these
	return now == before
}

// next returns the files as those that the next attempt finds.
func (c *slotCode) next() slotCode { return slotCode{dir: c.dir, key: c.key, kept: c.files} }

// writeScript writes the script of an operator next to its package, and returns its path.
func (c *slotCode) writeScript(work *flowforgev1.Process) (string, error) {
	const mode = 0o755 // a script runs through its command or directly
	extension := scriptExtension(work)
	name := "script" + extension
	for i := 1; ; i++ {
		err := c.write(name, mode, bytes.NewReader([]byte(work.Script)))
		if errors.Is(err, os.ErrExist) && i < 100 {
			name = fmt.Sprintf("script%d%s", i, extension)
			continue
		}
		if err != nil {
			return "", fmt.Errorf("write script: %w", err)
		}
		return filepath.Join(c.dir, name), nil
	}
}

func scriptExtension(work *flowforgev1.Process) string {
	if work.GetInterpreter() == "python" {
		return ".py"
	}
	return ".sh"
}
