package child

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/flowforge/flowforge/apperr"
)

// maxSocketDir is the longest directory that a socket may lie in: sun_path holds
// 107 bytes, and the longest file name in use is ".s.PGSQL.5432".
const maxSocketDir = 107 - len("/.s.PGSQL.5432")

// SocketDir makes a directory for unix sockets, mode 0700, owned by uid and gid, and
// returns its path: dir itself, or when that is too long a path for a socket a
// directory below runtimeDir (a per-user directory; "" for /tmp) whose name is made
// from dir. It rejects a directory that another user created.
func SocketDir(dir, runtimeDir string, uid, gid int) (string, error) {
	path := dir
	if len(path) > maxSocketDir {
		path = shortDir(dir, runtimeDir)
	}
	if len(path) > maxSocketDir {
		path = shortDir(dir, "/tmp")
	}
	if err := os.Mkdir(path, 0o700); err != nil && !os.IsExist(err) {
		return "", fmt.Errorf("create socket directory: %w", err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return "", fmt.Errorf("check socket directory: %w", err)
	}
	owner := -1
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		owner = int(stat.Uid)
	}
	if !info.IsDir() || (owner != uid && owner != os.Geteuid()) {
		return "", apperr.New(apperr.Forbidden, "%s belongs to another user: remove it, or choose a data directory with a shorter path", path)
	}
	if owner != uid {
		if err := os.Lchown(path, uid, gid); err != nil {
			return "", fmt.Errorf("change the owner of the socket directory: %w", err)
		}
	}
	if err := os.Chmod(path, 0o700); err != nil {
		return "", fmt.Errorf("restrict the socket directory: %w", err)
	}
	return path, nil
}

func shortDir(dir, runtimeDir string) string {
	if runtimeDir == "" {
		runtimeDir = "/tmp"
	}
	sum := sha256.Sum256([]byte(strconv.Itoa(os.Geteuid()) + "\x00" + dir))
	return filepath.Join(runtimeDir, "flowforge-"+hex.EncodeToString(sum[:6]))
}
