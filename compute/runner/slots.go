package runner

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

const (
	attemptsFolder    = "attempts"
	checkpointsFolder = "checkpoints"
)

// paths are the files and folders of one attempt.
type paths struct {
	base        string
	work        string // working directory
	outputs     string
	checkpoints string // survives the attempt
	inputs      string // the JSON file
	owner       string // names the attempt and its checkpoint key, for recovery
	files       string // input artifacts
	spool       string // telemetry that the SDK could not send
	result      string // an undelivered result
	log         string // undelivered log entries
	preempted   string // exists once the attempt is preempted
	traceback   string // the exception that ended a Python operator
	sdk         string
	code        *slotCode
}

func (s *slots) paths(base string) paths {
	work := filepath.Join(base, "work")
	return paths{
		base:        base,
		work:        work,
		code:        &slotCode{dir: work},
		outputs:     filepath.Join(base, "outputs"),
		checkpoints: filepath.Join(base, "checkpoints"),
		inputs:      filepath.Join(base, "inputs.json"),
		owner:       filepath.Join(base, "owner"),
		files:       filepath.Join(base, "inputs"),
		spool:       filepath.Join(base, "spool"),
		result:      filepath.Join(base, "result"),
		log:         filepath.Join(base, "log"),
		preempted:   filepath.Join(base, "preempted"),
		traceback:   filepath.Join(base, tracebackFile),
		sdk:         s.sdk,
	}
}

// slots are the folders in which attempts run. A short attempt would spend most of its
// time on creating and removing folders (the file system's journal), so a folder that an
// attempt leaves clean is reused.
type slots struct {
	dir   string // of the slots
	saved string // of checkpoints between attempts
	sdk   string
	gate  chan struct{} // bounds concurrent file system operations

	mu   sync.Mutex
	free []slotCode // of the folders that can be reused
	next int
}

func newSlots(dir, sdk string) *slots {
	return &slots{
		dir: filepath.Join(dir, attemptsFolder), saved: filepath.Join(dir, checkpointsFolder),
		sdk: sdk, gate: make(chan struct{}, 2*runtime.NumCPU()),
	}
}

// take returns a clean slot for an attempt. Its checkpoints are those of an earlier
// attempt with the same key, else a copy of those under the first of the other keys,
// because an execution can be resumed more than once.
func (s *slots) take(taskID, key string, others []string, code string) (p paths, copied bool, err error) {
	s.gate <- struct{}{}
	defer func() { <-s.gate }()
	if p, err = s.pick(code); err != nil {
		return p, false, err
	}
	if err := rewrite(p.owner, taskID+"\n"+key+"\n"); err != nil {
		return p, false, err
	}
	if key == "" {
		return p, false, nil
	}
	saved := filepath.Join(s.saved, key)
	// Unlike os.Rename, the system call replaces an empty folder.
	err = syscall.Rename(saved, p.checkpoints)
	if errors.Is(err, os.ErrNotExist) {
		copied, err = s.copySaved(p, others)
	}
	if err != nil {
		return p, false, fmt.Errorf("checkpoints: %w", err)
	}
	return p, copied, nil
}

// copySaved copies the checkpoints under the first of keys that has some.
func (s *slots) copySaved(p paths, keys []string) (bool, error) {
	for _, key := range keys {
		if !plainName(key) {
			continue
		}
		err := copyTree(filepath.Join(s.saved, key), p.checkpoints)
		if !errors.Is(err, os.ErrNotExist) {
			return err == nil, err
		}
		if err := removeContent(p.checkpoints); err != nil { // left by keys that were pruned in the meantime
			return false, err
		}
	}
	return false, nil
}

// reuse returns a free slot, if possible one with the files of the code.
func (s *slots) reuse(code string) (paths, bool) {
	s.mu.Lock()
	n := len(s.free)
	if n == 0 {
		s.mu.Unlock()
		return paths{}, false
	}
	i := n - 1
	for same := i; same >= 0; same-- {
		if s.free[same].key == code {
			i = same
			break
		}
	}
	found := s.free[i]
	s.free = slices.Delete(s.free, i, i+1)
	s.mu.Unlock()
	p := s.paths(filepath.Dir(found.dir))
	if found.key == code {
		p.code.kept = found.kept
	} else if len(found.kept) > 0 && !empty(p) {
		_ = os.RemoveAll(p.base)
		return s.reuse(code)
	}
	p.code.key = code
	return p, true
}

func (s *slots) pick(code string) (paths, error) {
	if p, ok := s.reuse(code); ok {
		return p, nil
	}
	for {
		s.mu.Lock()
		s.next++
		p := s.paths(filepath.Join(s.dir, strconv.Itoa(s.next)))
		p.code.key = code
		s.mu.Unlock()
		err := os.Mkdir(p.base, 0o700)
		if errors.Is(err, os.ErrExist) {
			continue // a recovered attempt is in it
		}
		for _, folder := range []string{p.work, p.outputs, p.checkpoints} {
			if err == nil {
				err = os.Mkdir(folder, 0o700)
			}
		}
		return p, err
	}
}

// saveCheckpoints keeps the checkpoints of a slot for the next attempt with the key.
func (s *slots) saveCheckpoints(p paths, key string) error {
	if key == "" || !plainName(key) || emptyFolder(p.checkpoints) {
		return nil
	}
	saved := filepath.Join(s.saved, key)
	if err := os.RemoveAll(saved); err != nil {
		return err
	}
	return os.Rename(p.checkpoints, saved)
}

// release takes back the slot of a delivered attempt.
func (s *slots) release(p paths) {
	s.gate <- struct{}{}
	defer func() { <-s.gate }()
	if !clean(p) && !(empty(p) && clean(p)) {
		_ = os.RemoveAll(p.base)
		return
	}
	s.mu.Lock()
	s.free = append(s.free, p.code.next())
	s.mu.Unlock()
}

// empty removes what an attempt left in its folders; it follows no link out of the slot. To
// create the folders again would take longer.
func empty(p paths) bool {
	root, err := os.OpenRoot(p.base)
	if err != nil {
		return false
	}
	defer root.Close()
	for _, folder := range []string{"work", "outputs"} {
		// A task can put anything in the place of its folder; opening a pipe would block.
		opened, err := root.OpenFile(folder, syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return false
		}
		names, err := opened.Readdirnames(-1)
		_ = opened.Close()
		for _, name := range names {
			if folder != "work" || !p.code.unchanged(name) {
				err = errors.Join(err, root.RemoveAll(filepath.Join(folder, name)))
			}
		}
		if err != nil {
			return false
		}
	}
	return true
}

// clean reports whether the next attempt could see nothing of the last one in a slot: it
// has only empty folders with their original permissions, and files that are rewritten
// before they are read, or that the last attempt has not changed.
func clean(p paths) bool {
	names, err := readNames(p.base)
	if err != nil {
		return false
	}
	for _, name := range names {
		switch name {
		case "work", "outputs", "checkpoints", "inputs.json", "owner":
		default:
			return false
		}
	}
	if !slices.Contains(names, "work") || !slices.Contains(names, "outputs") || !slices.Contains(names, "checkpoints") {
		return false
	}
	return p.code.only() && emptyFolder(p.outputs) && emptyFolder(p.checkpoints)
}

// emptyFolder reports whether path is an empty, unchanged folder and not a link.
func emptyFolder(path string) bool {
	names, unchanged := content(path, 1)
	return unchanged && len(names) == 0
}

// content returns at most the given number of names in a folder, and whether it is an unchanged
// folder and not a link.
func content(path string, most int) (names []string, unchanged bool) {
	folder, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, false
	}
	defer folder.Close()
	info, err := folder.Stat()
	if err != nil || info.Mode() != os.ModeDir|0o700 {
		return nil, false
	}
	names, err = folder.Readdirnames(most)
	return names, err == nil || errors.Is(err, io.EOF)
}

// rewrite sets the content of a file of a slot. It does not truncate to zero first,
// because a journaling file system would then wait for the disk.
func rewrite(path, content string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.WriteString(content); err != nil {
		return err
	}
	return file.Truncate(int64(len(content)))
}

// readOwner returns the task and checkpoint key of a slot.
func readOwner(p paths) (taskID, key string) {
	text, err := os.ReadFile(p.owner)
	if err != nil {
		return "", ""
	}
	taskID, rest, _ := strings.Cut(string(text), "\n")
	key, _, _ = strings.Cut(rest, "\n")
	return taskID, key
}

// plainName reports whether name is safe as the name of a file.
func plainName(name string) bool {
	if name == "" || len(name) > 200 || name[0] == '.' {
		return false
	}
	for _, c := range []byte(name) {
		if !isLetter(c) && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}
