// Package mark remembers on a file that its bytes were those of its hash when it was
// last written. Files of the store are shared with attempts by links, and a program
// that changes its input in place changes the file for everybody; whoever links to a
// file without the mark reads it first.
package mark

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// attribute holds when the file was last written while its bytes were right, in
// nanoseconds. Any later write moves that time.
const attribute = "user.flowforge.right"

// Set marks an open file whose bytes have just been compared, and lets nobody write
// it by its name any more. Without the attribute, as on some file systems, Holds says no.
func Set(file *os.File) error {
	if err := file.Chmod(0o600); err != nil { // the attribute takes the right to write
		return err //nolint:wrapcheck // a pass-through
	}
	info, err := file.Stat()
	if err != nil {
		return err //nolint:wrapcheck // a pass-through
	}
	_ = unix.Fsetxattr(int(file.Fd()), attribute, []byte(strconv.FormatInt(info.ModTime().UnixNano(), 10)), 0)
	return file.Chmod(0o444) //nolint:wrapcheck // a pass-through
}

// Holds reports whether nobody has written the file since it was marked.
func Holds(path string, info os.FileInfo) bool {
	var value [24]byte
	n, err := unix.Getxattr(path, attribute, value[:])
	return err == nil && string(value[:n]) == strconv.FormatInt(info.ModTime().UnixNano(), 10)
}
