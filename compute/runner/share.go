package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowforge/flowforge/data/channel/mark"
)

// Why a file was copied that could have been shared.
const (
	copiedForRoot = "copied, because read-only files do not stop a runner that is root"
	copiedForMode = "copied, because it gets permissions of its own"
	copiedForDisk = "copied, because the store is on another file system"
)

// shared is how the bytes of one file came to stand a second time.
type shared struct {
	copied int64  // bytes that were written; 0: none
	linked bool   // both names are one file
	why    string // one of the copiedFor texts, when a large file was copied
}

// shareFile makes to a file with the bytes of from, without copying them where that is
// safe: by a clone where the file system can, which writes apart from then on, or by a
// read-only link where permissions hold (they do not for root). Small files are copied.
func shareFile(from, to string, mode fs.FileMode, mayLink bool) (shared, error) {
	source, err := os.Open(from)
	if err != nil {
		return shared{}, err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return shared{}, err
	}
	large := info.Size() >= linkAtLeast
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode.Perm()|0o600)
	if err != nil {
		return shared{}, err
	}
	defer target.Close()
	if large && unix.IoctlFileClone(int(target.Fd()), int(source.Fd())) == nil {
		return shared{}, nil
	}
	found := shared{copied: info.Size()}
	switch {
	case !large:
	case mode.Perm()&0o111 != 0:
		found.why = copiedForMode
	case !mayLink:
		found.why = copiedForRoot
	default:
		if err := linkOver(from, to); err == nil {
			return shared{linked: true}, nil
		} else if !errors.Is(err, unix.EXDEV) && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EMLINK) {
			return shared{}, err
		}
		found.why = copiedForDisk
	}
	if _, err := io.Copy(target, source); err != nil {
		return shared{}, err
	}
	return found, target.Close()
}

// linkOver puts a link to from in the place of the file at to, or leaves that.
func linkOver(from, to string) error {
	link := filepath.Join(filepath.Dir(to), ".link-"+filepath.Base(to))
	if len(filepath.Base(link)) > 255 {
		link = filepath.Join(filepath.Dir(to), ".link")
	}
	if err := os.Link(from, link); err != nil {
		return err
	}
	if err := os.Rename(link, to); err != nil {
		return errors.Join(err, os.Remove(link))
	}
	return nil
}

// sharedFile is a file of the store, or of a cache, that stands among the inputs of an attempt.
type sharedFile struct {
	input string
	path  string // where everybody has it
	sha   string
	size  int64
	at    time.Time
}

// lend remembers that the file at path is shared with the attempt.
func (a *attempt) lend(input, path, sha string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	a.sharedFile = append(a.sharedFile, sharedFile{input: input, path: path, sha: sha, size: info.Size(), at: info.ModTime()})
	return nil
}

// damaged looks whether the attempt wrote into what was lent to it, takes away what it
// changed, so that nobody reads wrong bytes, and returns the sentence about it.
func (a *attempt) damaged() string {
	sentence := ""
	for _, l := range a.sharedFile {
		info, err := os.Stat(l.path)
		if err != nil {
			continue // it was removed, and is not shared any more
		}
		if info.Size() == l.size && info.ModTime().Equal(l.at) {
			if info.Mode().Perm()&0o222 != 0 {
				_ = os.Chmod(l.path, 0o444) // it was made writable, and not written
			}
			continue
		}
		if sha, err := hashOf(l.path); err == nil && sha == l.sha {
			continue
		}
		_ = os.Remove(l.path)
		sentence = fmt.Sprintf("The command changed the file of its input %s in place, which others share. The changed file was taken out of the store; "+
			"copy an input before you change it, and run again what made it.", l.input)
	}
	a.sharedFile = nil
	return sentence
}

// right makes sure that the stored file at path has the hash sha and size bytes: by its
// mark, or by reading it once.
func right(path, sha string, size int64) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() != size {
		return errWrongBytes
	}
	if mark.Holds(path, info) {
		return nil
	}
	found, err := hashOf(path)
	if err != nil {
		return err
	}
	if found != sha {
		return errWrongBytes
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_ = mark.Set(file) // of another owner, it is read again the next time
	return nil
}

var errWrongBytes = errors.New("its bytes in the store are not those that were put there")

func hashOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
