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

// Reasons for which a shareable file was copied.
const (
	copiedForRoot = "copied, because the runner is root and could write read-only files"
	copiedForMode = "copied, because it gets different permissions"
	copiedForDisk = "copied, because the store is on another file system"
)

// shareResult describes how a file was shared or copied.
type shareResult struct {
	copied int64  // bytes written; 0: none
	linked bool   // both paths are the same file
	why    string // a copiedFor reason, when a large file was copied
}

// shareFile creates to with the content of from, without copying where that is safe: by a
// clone if the file system supports it, or by a read-only link where permissions are
// enforced (not for root). Small files are copied.
func shareFile(from, to string, mode fs.FileMode, mayLink bool) (shareResult, error) {
	source, err := os.Open(from)
	if err != nil {
		return shareResult{}, err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return shareResult{}, err
	}
	large := info.Size() >= linkAtLeast
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode.Perm()|0o600)
	if err != nil {
		return shareResult{}, err
	}
	defer target.Close()
	if large && unix.IoctlFileClone(int(target.Fd()), int(source.Fd())) == nil {
		return shareResult{}, nil
	}
	found := shareResult{copied: info.Size()}
	switch {
	case !large:
	case mode.Perm()&0o111 != 0:
		found.why = copiedForMode
	case !mayLink:
		found.why = copiedForRoot
	default:
		if err := linkOver(from, to); err == nil {
			return shareResult{linked: true}, nil
		} else if !errors.Is(err, unix.EXDEV) && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EMLINK) {
			return shareResult{}, err
		}
		found.why = copiedForDisk
	}
	if _, err := io.Copy(target, source); err != nil {
		return shareResult{}, err
	}
	return found, target.Close()
}

// linkOver replaces the file at to with a link to from, or leaves it unchanged.
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

// sharedFile is a file of the store or of a cache among the inputs of an attempt.
type sharedFile struct {
	input string
	path  string // of the shared file
	sha   string
	size  int64
	at    time.Time
}

// recordShared records that the attempt shares the file at path.
func (f *inputFiles) recordShared(input, path, sha string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	f.shared = append(f.shared, sharedFile{input: input, path: path, sha: sha, size: info.Size(), at: info.ModTime()})
	return nil
}

// checkShared checks whether the attempt wrote to shared files, removes those that it
// changed, so that no other attempt reads wrong bytes, and returns the error message.
func (f *inputFiles) checkShared() string {
	sentence := ""
	for _, l := range f.shared {
		info, err := os.Stat(l.path)
		if err != nil {
			continue // it was removed and is no longer shared
		}
		if info.Size() == l.size && info.ModTime().Equal(l.at) {
			if info.Mode().Perm()&0o222 != 0 {
				_ = os.Chmod(l.path, 0o444) // made writable but not written
			}
			continue
		}
		if sha, err := hashOf(l.path); err == nil && sha == l.sha {
			continue
		}
		_ = os.Remove(l.path)
		sentence = fmt.Sprintf("The command changed the file of its input %s in place, but other attempts share that file. The changed file was removed from the store; "+
			"copy an input before you change it, and rerun the node that produced it.", l.input)
	}
	f.shared = nil
	return sentence
}

// verifyStored checks that the stored file at path has the hash sha and size bytes: by
// its mark, or by reading it once.
func verifyStored(path, sha string, size int64) error {
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
	_ = mark.Set(file) // a file of another owner is read again the next time
	return nil
}

var errWrongBytes = errors.New("its bytes in the store have changed")

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
