// Package mark records on a file that its bytes matched its hash when it was last
// written. Attempts share files of the store through links, and a program that modifies
// its input in place modifies the file for all of them. Before linking to a file
// without the mark, the caller verifies its bytes.
package mark

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// attribute holds the modification time at which the bytes were verified, in
// nanoseconds. Any later write moves that time.
const attribute = "user.flowforge.right"

// Set marks an open file whose bytes were just verified, and makes it read-only. On
// file systems without attributes, Holds returns false.
func Set(file *os.File) error {
	if err := file.Chmod(0o600); err != nil { // setting the attribute requires write permission
		return err //nolint:wrapcheck // a pass-through
	}
	info, err := file.Stat()
	if err != nil {
		return err //nolint:wrapcheck // a pass-through
	}
	_ = unix.Fsetxattr(int(file.Fd()), attribute, []byte(strconv.FormatInt(info.ModTime().UnixNano(), 10)), 0)
	return file.Chmod(0o444) //nolint:wrapcheck // a pass-through
}

// Holds reports whether the file is unmodified since it was marked.
func Holds(path string, info os.FileInfo) bool {
	var value [24]byte
	n, err := unix.Getxattr(path, attribute, value[:])
	return err == nil && string(value[:n]) == strconv.FormatInt(info.ModTime().UnixNano(), 10)
}
