package runner

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// warmMessage is the maximum size of an answer in bytes.
const warmMessage = 4 << 20

// warmOrder is the first message to a parent.
type warmOrder struct {
	Runner      int      `json:"runner"`
	Environment environ  `json:"environment"`
	Modules     []string `json:"modules"`
}

// warmAnswer is a message of a parent or of a fork.
type warmAnswer struct {
	Ready   bool     `json:"ready"`
	Folders []string `json:"folders"`
	Refused string   `json:"refused"`
	Reason  string   `json:"reason"`
	Error   string   `json:"error"`
	Pid     int      `json:"pid"`
	Started bool     `json:"started"`
	Modules []string `json:"modules"`
}

// warmRequest is the message to a fork. It can contain secrets; no other process reads it.
type warmRequest struct {
	Interpreter string   `json:"interpreter"`
	Script      string   `json:"script"`
	Arguments   []string `json:"arguments"`
	Folder      string   `json:"folder"`
	Environment environ  `json:"environment"`
}

func socketPair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socket pair: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "warm"), os.NewFile(uintptr(fds[1]), "warm")
	defer ours.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		_ = theirs.Close()
		return nil, nil, fmt.Errorf("socket pair: %w", err)
	}
	return conn.(*net.UnixConn), theirs, nil
}

// sendMessage sends a message with its length before it. Files travel with the first byte.
func sendMessage(to *net.UnixConn, message any, files []*os.File) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	head := binary.BigEndian.AppendUint32(nil, uint32(len(text))) //nolint:gosec // a program and its environment
	if err := sendFiles(to, head, files...); err != nil {
		return err
	}
	_, err = to.Write(text)
	return err
}

func sendFiles(to *net.UnixConn, head []byte, files ...*os.File) error {
	fds := make([]int, len(files))
	for i, file := range files {
		fds[i] = int(file.Fd())
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	_, _, err := to.WriteMsgUnix(head, rights, nil)
	return err
}

func readAnswer(from *net.UnixConn) (warmAnswer, error) {
	var head [4]byte
	var answer warmAnswer
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return answer, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > warmMessage {
		return answer, fmt.Errorf("a message has %d bytes", size)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(from, text); err != nil {
		return answer, err
	}
	return answer, json.Unmarshal(text, &answer)
}

// warmLog passes what a parent writes to the log of the runner.
type warmLog struct {
	pool        *warmPool
	interpreter string

	mu   sync.Mutex
	line string
}

func (l *warmLog) take(text []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" {
			l.line = line
			l.pool.logger.Debug("A warm Python process wrote.", "interpreter", l.interpreter, "line", line)
		}
	}
}

func (l *warmLog) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.line
}
