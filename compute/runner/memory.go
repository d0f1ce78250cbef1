package runner

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowforge/flowforge/data/channel"
)

const (
	// memoryLimit bounds the pool regardless of the space in its file system.
	memoryLimit = 2 * channel.MemoryLimit
	// memoryShare is the fraction of the free space that the pool may use.
	memoryShare = 4
	// tmpfsMagic is the type of in-memory file systems (statfs(2)).
	tmpfsMagic = 0x01021994
)

// memoryPool keeps output files that request it in the memory of this machine, for the
// next attempts of this runner. The store has them as well: files that do not fit, or
// were evicted, are read from there.
type memoryPool struct {
	dir   string // on an in-memory file system; "": none
	limit int64
	lock  *os.File // held while this runner is alive; nil without a dir

	mu    sync.Mutex
	used  int64
	files map[string]*memoryFile
}

// memoryFile is a file in memory.
type memoryFile struct {
	size  int64
	at    time.Time // when it was written
	last  time.Time
	users int
}

// newMemoryPool returns an empty pool for the runner of folder, below parent. Without an
// in-memory file system the pool keeps nothing.
func newMemoryPool(parent, folder string) *memoryPool {
	pool := &memoryPool{files: map[string]*memoryFile{}}
	var at unix.Statfs_t
	if parent == "" || unix.Statfs(parent, &at) != nil || at.Type != tmpfsMagic {
		return pool
	}
	sum := sha256.Sum256([]byte(folder))
	dir := filepath.Join(parent, fmt.Sprintf("flowforge-%d-%s", os.Getuid(), hex.EncodeToString(sum[:6])))
	if os.RemoveAll(dir) != nil || os.Mkdir(dir, 0o700) != nil || os.Mkdir(filepath.Join(dir, "attempts"), 0o700) != nil {
		return pool
	}
	lock, err := os.Create(filepath.Join(dir, memoryLock))
	if err != nil || unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return pool
	}
	sweepMemory(parent)
	pool.dir, pool.lock = dir, lock
	pool.limit = min(memoryLimit, int64(at.Bavail)*at.Bsize/memoryShare) //nolint:gosec // a file system of this machine
	return pool
}

const (
	memoryLock = "lock"
	// lockWithin is how long a runner may take between creating its folder and locking
	// it.
	lockWithin = time.Minute
)

// sweepMemory frees the memory of killed runners of this account.
func sweepMemory(parent string) {
	folders, _ := filepath.Glob(filepath.Join(parent, fmt.Sprintf("flowforge-%d-*", os.Getuid())))
	for _, folder := range folders {
		lock, err := os.Open(filepath.Join(folder, memoryLock))
		if err != nil {
			if info, err := os.Stat(folder); err == nil && time.Since(info.ModTime()) > lockWithin {
				_ = os.RemoveAll(folder)
			}
			continue
		}
		if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = os.RemoveAll(folder)
		}
		_ = lock.Close()
	}
}

func (m *memoryPool) path(sha string) string { return filepath.Join(m.dir, sha) }

// keep copies the file at path, whose hash is sha, into memory, unless it is too large or
// the pool is full of files in use.
func (m *memoryPool) keep(path, sha string, size int64) error {
	if m.dir == "" || size > min(m.limit, channel.MemoryLimit) {
		return nil
	}
	m.mu.Lock()
	there := m.files[sha] != nil || !m.evictFor(size)
	if !there {
		m.used += size // other goroutines continue during the copy
	}
	m.mu.Unlock()
	if there {
		return nil
	}
	partial := m.path("." + rand.Text())
	at, err := writeChecked(path, partial, sha)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil && m.files[sha] == nil {
		err = os.Rename(partial, m.path(sha))
		if err == nil {
			m.files[sha] = &memoryFile{size: size, at: at, last: time.Now()}
			return nil
		}
	}
	m.used -= size
	_ = os.Remove(partial)
	return err
}

// writeChecked copies a file whose hash is sha and returns the time of the copy.
func writeChecked(path, target, sha string) (time.Time, error) {
	from, err := os.Open(path)
	if err != nil {
		return time.Time{}, err
	}
	defer from.Close()
	to, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return time.Time{}, err
	}
	defer to.Close()
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(to, h), from); err != nil {
		return time.Time{}, err
	}
	if hex.EncodeToString(h.Sum(nil)) != sha {
		return time.Time{}, errWrongBytes
	}
	if err := to.Chmod(0o444); err != nil {
		return time.Time{}, err
	}
	info, err := to.Stat()
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), to.Close()
}

// evictFor evicts the least recently used files until size more bytes fit.
func (m *memoryPool) evictFor(size int64) bool {
	for m.used+size > m.limit {
		oldest := ""
		for sha, k := range m.files {
			if k.users == 0 && (oldest == "" || k.last.Before(m.files[oldest].last)) {
				oldest = sha
			}
		}
		if oldest == "" {
			return false
		}
		m.drop(oldest)
	}
	return true
}

func (m *memoryPool) drop(sha string) {
	_ = os.Remove(m.path(sha))
	m.used -= m.files[sha].size
	delete(m.files, sha)
}

// has reports whether all files of a manifest are in memory.
func (m *memoryPool) has(list manifest) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range list.Entries {
		if m.files[e.SHA256] == nil {
			return false
		}
	}
	return true
}

// use returns the path of a file in memory and keeps the file there until done is called;
// "" when it is missing or was modified. With copied, the attempt gets its own copy in
// memory, which must also fit.
func (m *memoryPool) use(sha string, copied bool) (path string, done func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.files[sha]
	if k == nil {
		return "", nil
	}
	info, err := os.Stat(m.path(sha))
	if err != nil || info.Size() != k.size || !info.ModTime().Equal(k.at) {
		m.drop(sha)
		return "", nil
	}
	k.last = time.Now()
	k.users++
	var more int64
	if copied {
		more = k.size
	}
	if !m.evictFor(more) {
		k.users--
		return "", nil
	}
	m.used += more
	return m.path(sha), func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		k.users--
		m.used -= more
	}
}

// folder returns a new folder in memory for file i of an attempt.
func (m *memoryPool) folder(taskID string, i int) (string, error) {
	dir := filepath.Join(m.dir, "attempts", taskID, strconv.Itoa(i))
	return dir, os.MkdirAll(dir, 0o700)
}

// release frees the memory of an attempt.
func (m *memoryPool) release(taskID string) {
	if m.dir != "" {
		_ = os.RemoveAll(filepath.Join(m.dir, "attempts", taskID))
	}
}

// close frees all memory.
func (m *memoryPool) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dir != "" {
		_ = os.RemoveAll(m.dir)
		_ = m.lock.Close()
		m.files, m.used = map[string]*memoryFile{}, 0
	}
}
