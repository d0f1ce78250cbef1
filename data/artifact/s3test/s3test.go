// Package s3test gives tests a real S3 server: a separate process that stores objects
// in a temporary folder.
package s3test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/flowforge/flowforge/platform/freeport"
	"github.com/flowforge/flowforge/platform/testserver"
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
	domain  string // of host names with the bucket; "": the bucket is in the path
	process *testserver.Process
}

// Start starts a server that has the buckets, and stops it at the end of the test. A
// test run without the program fails.
func Start(t testing.TB, buckets ...string) *Server {
	t.Helper()
	return StartDomain(t, "", buckets...)
}

// StartDomain is Start for a server with the host names <bucket>.<domain>.
func StartDomain(t testing.TB, domain string, buckets ...string) *Server {
	t.Helper()
	s := &Server{domain: domain, Dir: t.TempDir(), meta: t.TempDir(), address: freeport.Address(t)}
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
	args := []string{"--port", s.address, "--access", AccessKey, "--secret", SecretKey, "--quiet"}
	if s.domain != "" {
		args = append(args, "--virtual-domain", s.domain)
	}
	cmd := exec.CommandContext(context.Background(), program(t), append(args, "posix", "--sidecar", s.meta, s.Dir)...)
	s.process = testserver.Start(t, "the S3 server", s.address, cmd)
}

// Stop kills the server at once.
func (s *Server) Stop() { s.process.Stop() }

func program(t testing.TB) string {
	t.Helper()
	if path := os.Getenv(EnvServer); path != "" {
		return path
	}
	if path := testserver.Installed(t, "bin", "versitygw"); path != "" {
		return path
	}
	t.Fatalf("there is no S3 server for tests: run `scripts/setup s3`, or set %s", EnvServer)
	return ""
}
