package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// An attempt may name absolute paths for files of its inputs and for its outputs. In a
// pod the paths belong to the attempt. On a shared machine, attempts that name the same
// path run one after another, and each finds only its own files there.

// absolutePaths are the absolute paths that an attempt names.
type absolutePaths struct {
	a      *attempt
	links  []string // made for the attempt
	unlock func()   // nil: it holds no paths
}

// placeScratch creates the empty folders of the attempt at their paths.
func (p *absolutePaths) placeScratch() error {
	for _, s := range p.a.spec.Scratch {
		folder := filepath.Join(p.a.paths.base, "scratch", filepath.Base(filepath.Clean("/"+s.Name)))
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
		if err := p.place(folder, s.Path); err != nil {
			return fmt.Errorf("the empty folder %s: %w", s.Path, err)
		}
	}
	return nil
}

// hold locks the absolute paths of the attempt until release.
func (p *absolutePaths) hold() error {
	names := pathsOf(p.a.spec)
	if len(names) == 0 || p.a.s.config.Pod != nil {
		return nil
	}
	release, err := p.a.s.pathLocks.acquire(p.a, names)
	p.unlock = release
	return err
}

// release removes the links that were made for the attempt and unlocks its paths.
func (p *absolutePaths) release() {
	for _, link := range p.links {
		if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, p.a.paths.base) {
			_ = os.Remove(link)
		}
	}
	if p.unlock != nil {
		p.unlock()
	}
	p.links, p.unlock = nil, nil
}

// place makes the file or folder at from available at the absolute path to. In a pod it
// is moved there. On a shared machine it gets a link, which is removed with the attempt.
func (p *absolutePaths) place(from, to string) error {
	if !filepath.IsAbs(to) {
		return fmt.Errorf("%q is not an absolute path", to)
	}
	to = filepath.Clean(to)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	info, err := os.Lstat(to)
	if err == nil && info.IsDir() {
		if err := os.Remove(to); err != nil {
			return fmt.Errorf("a folder with files already exists at %s", to)
		}
	}
	if p.a.s.config.Pod == nil {
		link := filepath.Join(filepath.Dir(to), ".flowforge-"+p.a.spec.Name+"-"+filepath.Base(to))
		if err := os.Symlink(from, link); err != nil {
			return err
		}
		if err := os.Rename(link, to); err != nil {
			_ = os.Remove(link)
			return err
		}
		p.links = append(p.links, to)
		return nil
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(from, to); err == nil {
		return nil
	}
	return copyTree(from, to) // another file system
}

// copyTree copies a file, or a folder with all regular files and links in it.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		info, err := entry.Info()
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return os.MkdirAll(target, 0o700|info.Mode().Perm())
		case entry.Type() == fs.ModeSymlink && name != from:
			return copyLink(name, target)
		case !entry.Type().IsRegular():
			return nil
		}
		return copyFile(name, target, info.Mode().Perm())
	})
}

func copyLink(from, to string) error {
	target, err := os.Readlink(from)
	if err != nil {
		return err
	}
	return os.Symlink(target, to)
}

// makeFile creates a file of an input that does not come from the store.
func (f *inputFiles) makeFile(ctx context.Context, file *flowforgev1.InputFile, to string) error {
	var err error
	switch {
	case file.Url != "":
		err = f.a.s.requester.download(ctx, file.Url, file.Headers, to)
	case file.Bucket != nil:
		err = f.a.buckets().fetch(ctx, file, to)
	case file.Git != nil:
		return cloneRepository(ctx, file.Git, to, installerEnvironment(f.a.s.config.Environ, f.a.s.base))
	default:
		return os.WriteFile(to, []byte(file.Text), 0o644)
	}
	if err != nil {
		return err
	}
	return unpackInput(to, file.Archive)
}

// download writes the response body of an address to a new file.
func (r *requester) download(ctx context.Context, address string, headers map[string]string, to string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("the address %q cannot be read: %w", address, err)
	}
	if req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return fmt.Errorf("%q is not an http or https address", address)
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return fmt.Errorf("fetch %s: %w", req.URL.Redacted(), unwrapURL(err))
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return &missingError{fmt.Sprintf("%s responded with %s", req.URL.Redacted(), resp.Status)}
	default:
		return fmt.Errorf("%s responded with %s", req.URL.Redacted(), resp.Status)
	}
	file, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, resp.Body)
	return errors.Join(err, file.Close())
}

// collectExternal collects the outputs at absolute paths and from standard output, and
// returns the remaining specs.
func (a *attempt) collectExternal(ctx context.Context, found *collection) ([]*flowforgev1.OutputSpec, error) {
	var rest []*flowforgev1.OutputSpec
	for _, spec := range a.spec.Outputs {
		switch {
		case spec.Stdout:
			if a.spec.GetHttp() != nil { // the response body is the result
				a.stdout.take(headOf(filepath.Join(a.paths.outputs, "body")))
			}
			text, whole := a.stdout.text()
			if !whole {
				found.notes = append(found.notes, fmt.Sprintf("The result is longer than %d KiB; the rest is not part of the result.", maxResult>>10))
			}
			output := textOutput(spec.Name, text)
			output.Truncated = !whole
			found.outputs = append(found.outputs, output)
		case spec.Path != "":
			if err := a.fromPath(ctx, spec, found); err != nil {
				return nil, fmt.Errorf("output %s: %w", spec.Name, err)
			}
		default:
			rest = append(rest, spec)
		}
	}
	return rest, nil
}

func textOutput(name, text string) *flowforgev1.Output {
	quoted, _ := json.Marshal(text) //nolint:errchkjson // a string always encodes
	return &flowforgev1.Output{Name: name, Filename: name, Content: &flowforgev1.Output_Value{Value: string(quoted)}}
}

// fromPath collects an output at an absolute path. An output that does not exist is left
// out.
func (a *attempt) fromPath(ctx context.Context, spec *flowforgev1.OutputSpec, found *collection) error {
	path := filepath.Clean(spec.Path)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if a.s.config.Pod == nil && !info.IsDir() && info.ModTime().Before(a.begin.Add(-time.Second)) && !slices.Contains(a.absolute.links, path) {
		found.notes = append(found.notes, fmt.Sprintf("%s existed before the command started; it is not an output.", path))
		return nil
	}
	if spec.Inline {
		return inlineFrom(spec, path, info, found)
	}
	if a.s.config.Pod == nil { // another attempt may write there next
		kept := filepath.Join(a.paths.base, "kept-"+strconv.Itoa(len(found.outputs)))
		if err := os.Mkdir(kept, 0o700); err != nil {
			return err
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return err
		}
		if err := copyTree(real, filepath.Join(kept, filepath.Base(path))); err != nil {
			return err
		}
		path = filepath.Join(kept, filepath.Base(path))
	}
	if spec.Bucket != nil {
		found.uploads = append(found.uploads, bucketUpload{spec: spec, path: path})
	}
	return blobFrom(ctx, spec, path, a.paths.base, found)
}

func inlineFrom(spec *flowforgev1.OutputSpec, path string, info fs.FileInfo, found *collection) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", path)
	}
	if info.Size() > maxInline {
		return fmt.Errorf("%s has %d bytes; a parameter may have at most %d (use an artifact for more)", path, info.Size(), maxInline)
	}
	data, err := readLimited(path, maxInline)
	if err != nil {
		return err
	}
	found.outputs = append(found.outputs, textOutput(spec.Name, strings.TrimSuffix(cleanText(data), "\n")))
	return nil
}

// blobFrom collects a file or a folder outside the outputs folder.
func blobFrom(ctx context.Context, spec *flowforgev1.OutputSpec, path, stage string, found *collection) error {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer root.Close()
	c := &collector{ctx: ctx, dir: filepath.Dir(path), stage: stage, root: root}
	if err := c.collect(spec, filepath.Base(path)); err != nil {
		return err
	}
	found.outputs = append(found.outputs, c.found.outputs...)
	found.blobs = append(found.blobs, c.found.blobs...)
	found.memory = append(found.memory, c.found.memory...)
	found.notes = append(found.notes, c.found.notes...)
	return nil
}

// maxResult is the maximum size of an output that is taken from standard output.
const maxResult = 256 << 10

// headOf returns the beginning of a file, slightly more than maxResult.
func headOf(name string) []byte {
	file, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer file.Close()
	head, _ := io.ReadAll(io.LimitReader(file, maxResult+1)) // the bytes that could be read are the result
	return head
}

// captured keeps the beginning of what a command writes to its standard output.
type captured struct {
	mu      sync.Mutex
	buffer  []byte
	dropped bool
}

func (c *captured) take(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	room := min(len(p), maxResult-len(c.buffer))
	c.buffer = append(c.buffer, p[:room]...)
	c.dropped = c.dropped || room < len(p)
}

// text returns the captured text without a final line feed, and whether it is complete.
func (c *captured) text() (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dropped {
		return cleanText(c.buffer), false
	}
	return strings.TrimSuffix(cleanText(c.buffer), "\n"), true
}
