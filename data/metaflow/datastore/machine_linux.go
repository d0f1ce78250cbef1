package datastore

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// Machine identifies this machine since its start and the file system that this process sees. A
// program that computes the same sees the same files at the same paths. "" is unknown.
func Machine() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	var root syscall.Stat_t
	if err := syscall.Stat("/", &root); err != nil {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", strings.TrimSpace(string(boot)), root.Dev, root.Ino))
	return hex.EncodeToString(sum[:])
}
