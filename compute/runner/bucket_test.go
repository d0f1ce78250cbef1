package runner

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/flowforge/flowforge/data/artifact/s3test"
	"github.com/flowforge/flowforge/data/bucket"
	"github.com/flowforge/flowforge/data/bucket/gcstest"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// SignBucketRequests signs requests for the locations of the test.
func (s *taskServer) SignBucketRequests(ctx context.Context, req *connect.Request[flowforgev1.SignBucketRequestsRequest]) (*connect.Response[flowforgev1.SignBucketRequestsResponse], error) {
	at := s.buckets[req.Msg.Input+req.Msg.Output]
	resp := &flowforgev1.SignBucketRequestsResponse{ListFormat: string(at.ListFormat()), Prefix: at.Prefix(), MaxBytes: s.maxObject, Location: at.String()}
	add := func(r bucket.Request, err error) {
		if err != nil {
			panic(err)
		}
		resp.Requests = append(resp.Requests, &flowforgev1.SignedRequest{Method: r.Method, Url: r.URL, Headers: r.Header})
	}
	for _, name := range req.Msg.Names {
		if req.Msg.Output != "" {
			add(at.Put(ctx, name))
		} else {
			add(at.Get(ctx, name))
		}
	}
	if len(req.Msg.Names) == 0 {
		add(at.List(ctx, req.Msg.Marker))
	}
	return connect.NewResponse(resp), nil
}

// withBucket starts an S3 server and makes its bucket the place of "in" and "out".
func (b *testBundle) withBucket(t *testing.T, key string) (store *s3test.Server, at *bucket.Location) {
	t.Helper()
	store = s3test.Start(t, "others")
	at = &bucket.Location{
		Store: bucket.S3, Bucket: "others", Key: key, Endpoint: store.Endpoint, AccessKey: s3test.AccessKey, SecretKey: s3test.SecretKey,
	}
	b.server.buckets = map[string]*bucket.Location{"in": at, "out": at}
	b.server.maxObject = 1 << 20
	return store, at
}

func (b *testBundle) withOutput(id, script, file string) *flowforgev1.AttemptSpec {
	spec := shell(id, script)
	spec.Outputs = []*flowforgev1.OutputSpec{{Name: "out", Kind: "File", Path: file, Bucket: &flowforgev1.BucketTarget{}}}
	return spec
}

// TestFoldersOfBuckets: an input is every object below its key, on all pages of the list.
func TestFoldersOfBuckets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	store, _ := b.withBucket(t, "data")
	folder := filepath.Join(store.Dir, "others", "data", "deep")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 1100 { // a page has 1,000
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%d.txt", i)), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	spec := shell("a", `find "$(sed 's/.*:"//;s/".*//' "$FLOWFORGE_INPUTS")/deep" -type f -size 1c | wc -l`)
	spec.InputsJson = `{"in":null}`
	spec.Files = []*flowforgev1.InputFile{{Input: "in", Pointer: "/in", Bucket: &flowforgev1.BucketSource{}}}
	wantOutcome(t, b.run(t, spec), succeeded)
	if lines := b.server.lines("a", "stdout"); len(lines) != 1 || strings.TrimSpace(lines[0]) != "1100" {
		t.Errorf("the task found %q", lines)
	}
}

// TestMissingObjects: the message names the object, and no signature.
func TestMissingObjects(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.withBucket(t, "data")
	spec := shell("a", "true")
	spec.InputsJson = `{"in":null}`
	spec.Files = []*flowforgev1.InputFile{{Input: "in", Pointer: "/in", Bucket: &flowforgev1.BucketSource{}}}
	f := b.run(t, spec)
	wantOutcome(t, f, flowforgev1.Outcome_OUTCOME_START_FAILED)
	if !strings.Contains(f.Message, "there is no object s3://others/data, and none below it") || strings.Contains(f.Message, "Signature") {
		t.Error(f.Message)
	}
}

// TestOptionalInputs: an optional input without a file is null, and the log says so. A store that
// cannot be read fails the attempt all the same.
func TestOptionalInputs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, at := b.withBucket(t, "data")
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	spec := shell("a", `cat "$FLOWFORGE_INPUTS"`)
	spec.InputsJson = `{"in":{"bucket":1},"page":{"url":1}}`
	spec.Files = []*flowforgev1.InputFile{
		{Input: "in", Pointer: "/in", Path: filepath.Join(t.TempDir(), "in"), Optional: true, Bucket: &flowforgev1.BucketSource{}},
		{Input: "page", Pointer: "/page", Optional: true, Url: web.URL + "/none"},
	}
	wantOutcome(t, b.run(t, spec), succeeded)
	if lines := b.server.lines("a", "stdout"); len(lines) != 1 || lines[0] != `{"in":null,"page":null}` {
		t.Errorf("the inputs are %q", lines)
	}
	lines := strings.Join(b.server.lines("a", "system"), "\n")
	for _, want := range []string{
		"The optional input in is left out: there is no object s3://others/data, and none below it.",
		"The optional input page is left out: " + web.URL + "/none responded with 404 Not Found.",
	} {
		if !strings.Contains(lines, want) {
			t.Errorf("%q is not in %q", want, lines)
		}
	}
	at.Bucket, spec.TaskId, spec.Name = "none", "b", "b"
	f := b.run(t, spec)
	wantOutcome(t, f, flowforgev1.Outcome_OUTCOME_START_FAILED)
	if !strings.Contains(f.Message, "404 Not Found, NoSuchBucket") {
		t.Error(f.Message)
	}
}

// TestFolderKeys: a file under a key that ends with a slash is read back as a file. An empty one
// stands for the folder of the objects below it, if there are any.
func TestFolderKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	store := gcstest.Start(t, "others")
	at := &bucket.Location{Store: bucket.GCS, Bucket: "others", Key: "data/", Endpoint: store.Endpoint, AccessKey: store.Key}
	b.server.buckets = map[string]*bucket.Location{"in": at, "out": at}
	b.server.maxObject = 1 << 20
	put := func(id, text string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "out")
		wantOutcome(t, b.run(t, b.withOutput(id, "printf %s '"+text+"' > "+file, file)), succeeded)
	}
	read := func(id string) string {
		t.Helper()
		spec := shell(id, `cd "$(dirname "$(sed 's/.*:"//;s/".*//' "$FLOWFORGE_INPUTS")")" && find . -type f | while read -r f; do echo "$f:$(cat "$f")"; done`)
		spec.InputsJson = `{"in":null}`
		spec.Files = []*flowforgev1.InputFile{{Input: "in", Pointer: "/in", Bucket: &flowforgev1.BucketSource{Marker: at.Marker()}}}
		wantOutcome(t, b.run(t, spec), succeeded)
		return strings.Join(b.server.lines(id, "stdout"), " ")
	}
	put("file", "text")
	if got := read("reads-file"); got != "./data:text" {
		t.Errorf("read %q", got)
	}
	put("empty", "")
	if got := read("reads-empty"); got != "./data:" {
		t.Errorf("read %q", got)
	}
	at.Key = "data/deep/file"
	put("below", "below")
	at.Key = "data/"
	if got := read("reads-folder"); got != "./data/deep/file:below" {
		t.Errorf("read %q", got)
	}
}

// TestUploadsThatFail: an output that its bucket rejects fails the attempt. If the command
// has failed before, its own failure stays, and the output is kept.
func TestUploadsThatFail(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, at := b.withBucket(t, "data")
	file := filepath.Join(t.TempDir(), "out")
	b.server.maxObject = 3
	f := b.run(t, b.withOutput("large", "echo text > "+file, file))
	wantOutcome(t, f, flowforgev1.Outcome_OUTCOME_OUTPUT_FAILED)
	if !strings.Contains(f.Message, "Output out could not be uploaded: the object s3://others/data would have 5 bytes; an upload to a bucket can have at most 3.") {
		t.Error(f.Message)
	}
	b.server.maxObject, at.SecretKey = 1<<20, "wrong"
	f = b.run(t, b.withOutput("refused", "echo text > "+file, file))
	wantOutcome(t, f, flowforgev1.Outcome_OUTCOME_OUTPUT_FAILED)
	if !strings.Contains(f.Message, "/others/data responded with 403 Forbidden, SignatureDoesNotMatch") || strings.Contains(f.Message, "X-Amz") {
		t.Error(f.Message)
	}
	spec := b.withOutput("failed", "echo text > "+file+"; exit 3", file)
	spec.CollectAfterFailure = true
	f = b.run(t, spec)
	wantOutcome(t, f, flowforgev1.Outcome_OUTCOME_FAILED)
	if f.ExitCode != 3 || len(f.Outputs) != 1 {
		t.Errorf("exit code %d, %d outputs", f.ExitCode, len(f.Outputs))
	}
	if lines := strings.Join(b.server.lines("failed", "system"), "\n"); !strings.Contains(lines, "could not be uploaded") {
		t.Error(lines)
	}
}

// TestUploadsOfFailedCommands: the outputs that a failed command has written are uploaded.
func TestUploadsOfFailedCommands(t *testing.T) {
	t.Parallel()
	b := setup(t)
	store, _ := b.withBucket(t, "data")
	file := filepath.Join(t.TempDir(), "out")
	spec := b.withOutput("failed", "echo text > "+file+"; exit 3", file)
	spec.CollectAfterFailure = true
	wantOutcome(t, b.run(t, spec), flowforgev1.Outcome_OUTCOME_FAILED)
	if data, err := os.ReadFile(filepath.Join(store.Dir, "others", "data")); err != nil || string(data) != "text\n" {
		t.Errorf("%q, %v", data, err)
	}
}

// TestBusyBuckets: a request that a store cannot serve for a moment is repeated, with its whole
// body.
func TestBusyBuckets(t *testing.T) {
	t.Parallel()
	var bodies []string
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if bodies = append(bodies, string(body)); len(bodies) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer store.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	request := &flowforgev1.SignedRequest{Method: http.MethodPut, Url: store.URL + "/b/k?signature=x"}
	if err := newRequester().uploadObject(t.Context(), request, file, &flowforgev1.SignBucketRequestsResponse{MaxBytes: 4}); err != nil {
		t.Fatal(err)
	}
	if len(bodies) != 2 || bodies[0] != "text" || bodies[1] != "text" {
		t.Errorf("the store received %q", bodies)
	}
}

// TestHostileArchives: entries outside of the folder are refused, also through links.
func TestHostileArchives(t *testing.T) {
	t.Parallel()
	for name, entries := range map[string][]tar.Header{
		"parent": {{Name: "../out", Typeflag: tar.TypeReg}},
		"link":   {{Name: "away", Typeflag: tar.TypeSymlink, Linkname: ".."}, {Name: "away/out", Typeflag: tar.TypeReg}},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "in")
		out, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		zipped := gzip.NewWriter(out)
		archive := tar.NewWriter(zipped)
		for _, h := range entries {
			h.Mode = 0o644
			if err := archive.WriteHeader(&h); err != nil {
				t.Fatal(err)
			}
		}
		if archive.Close() != nil || zipped.Close() != nil || out.Close() != nil {
			t.Fatal("the archive could not be written")
		}
		if err := unpackInput(file, flowforgev1.Archive_ARCHIVE_TAR); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := os.Lstat(filepath.Join(dir, "out")); err == nil {
			t.Errorf("%s: a file was written outside of the folder", name)
		}
	}
}
