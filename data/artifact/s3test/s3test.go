// Package s3test gives tests a real S3 server: a separate process that stores objects
// in a temporary folder.
package s3test

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/flowforge/flowforge/platform/freeport"
)

// EnvServer names the variable with the path of the server's program; without it the
// program is where `scripts/setup s3` puts it.
const EnvServer = "FLOWFORGE_TEST_S3_SERVER"

// The credentials of the server.
const (
	AccessKey = "flowforge-test"
	SecretKey = "flowforge-test-secret"
)

// Credentials gives the server's credentials to the AWS SDK.
func Credentials() aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: AccessKey, SecretAccessKey: SecretKey}, nil
	})
}

// Server is one server on an address of this machine, with buckets that are folders.
type Server struct {
	Endpoint string // http://127.0.0.1:port
	Dir      string // holds a folder for each bucket

	meta    string
	address string
	process *os.Process
	ended   chan struct{}
}

// Start starts a server that has the buckets, and stops it at the end of the test. A
// test run without the program fails.
func Start(t testing.TB, buckets ...string) *Server {
	t.Helper()
	s := &Server{Dir: t.TempDir(), meta: t.TempDir(), address: freeport.Address(t)}
	s.Endpoint = "http://" + s.address
	for _, dir := range buckets {
		if err := os.Mkdir(filepath.Join(s.Dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.Resume(t)
	t.Cleanup(s.Stop)
	return s
}

// Resume restarts a stopped server, with its objects and on its address.
func (s *Server) Resume(t testing.TB) {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), program(t), "--port", s.address, "--access", AccessKey, "--secret", SecretKey, "--quiet",
		"posix", "--sidecar", s.meta, s.Dir)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started, ended := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread() // the kernel ties the process to the thread that started it
		defer runtime.UnlockOSThread()
		defer close(ended)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		t.Fatalf("start the S3 server: %v", err)
	}
	s.process, s.ended = cmd.Process, ended
	for deadline := time.Now().Add(20 * time.Second); ; {
		conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", s.address)
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-ended:
			t.Fatalf("the S3 server exited: %s", said.String())
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("the S3 server does not answer: %v", err)
		}
	}
}

// Stop kills the server at once.
func (s *Server) Stop() {
	_ = s.process.Kill()
	<-s.ended
}

// maxDepth is the maximum depth of tests below the repository root.
const maxDepth = 6

func program(t testing.TB) string {
	t.Helper()
	if path := os.Getenv(EnvServer); path != "" {
		return path
	}
	dirs := []string{os.Getenv("FLOWFORGE_CACHE_DIR")}
	for up := "."; len(dirs) < maxDepth; up = filepath.Join(up, "..") {
		dirs = append(dirs, filepath.Join(up, ".cache"))
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, "bin", "versitygw")
		if info, err := os.Stat(path); err == nil && dir != "" && !info.IsDir() { //nolint:gosec // the tester sets the directory
			path, err = filepath.Abs(path)
			if err != nil {
				t.Fatal(err)
			}
			return path
		}
	}
	t.Fatalf("there is no S3 server for tests: run `scripts/setup s3`, or set %s", EnvServer)
	return ""
}
