// Package unixsocket listens on and dials unix sockets whose path may be longer
// than the 107 bytes that the kernel allows in an address, as paths below a
// deep data directory easily are.
package unixsocket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// maxPath is the longest path that fits into a socket address.
const maxPath = 107

// Listen listens on path. It creates the folder with mode 0700 and replaces a stale socket
// file. It returns an error if another process serves the socket.
func Listen(path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("socket folder: %w", err)
	}
	short, done, err := shorten(path)
	if err != nil {
		return nil, err
	}
	defer done()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var dialer net.Dialer
	if conn, err := dialer.DialContext(ctx, "unix", short); err == nil {
		_ = conn.Close()
		return nil, fmt.Errorf("another process serves %s", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("old socket: %w", err)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "unix", short)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	// The address may name a descriptor that is closed by the time of Close.
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	return &removing{Listener: listener, path: path}, nil
}

// removing removes the socket file when the listener closes.
type removing struct {
	net.Listener
	path string
}

func (l *removing) Close() error {
	err := l.Listener.Close()
	if err == nil {
		_ = os.Remove(l.path)
	}
	return err
}

// Dial connects to the socket at path.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	short, done, err := shorten(path)
	if err != nil {
		return nil, err
	}
	defer done()
	var dialer net.Dialer
	return dialer.DialContext(ctx, "unix", short)
}

// Client returns an HTTP client all of whose requests go to the socket at path,
// whatever host their URL names.
func Client(path string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return Dial(ctx, path)
		},
		MaxIdleConns:        64,
		MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     time.Minute,
		DisableCompression:  true,
	}}
}

// shorten returns a path of the same socket that fits into an address; it is
// valid until done is called.
func shorten(path string) (short string, done func(), err error) {
	if len(path) <= maxPath {
		return path, func() {}, nil
	}
	fd, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", nil, fmt.Errorf("socket folder %s: %w", filepath.Dir(path), err)
	}
	short = "/proc/self/fd/" + strconv.Itoa(fd) + "/" + filepath.Base(path)
	return short, func() { _ = unix.Close(fd) }, nil
}
