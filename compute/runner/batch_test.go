package runner

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// manyFiles writes a folder output of 2,500 small files, and one that is larger than a
// batch takes.
func manyFiles(name string) *flowforgev1.AttemptSpec {
	spec := shell(name, `mkdir "$FLOWFORGE_OUTPUTS/parts" && cd "$FLOWFORGE_OUTPUTS/parts" && seq 1 2500 | split -l 1 -a 4 - part- && head -c 300000 /dev/urandom > large`)
	spec.Outputs = []*flowforgev1.OutputSpec{blob("parts", "Directory")}
	return spec
}

// batch takes blobs from a tar archive.
func (s *taskServer) batch(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.single:
		http.NotFound(w, r)
		return
	case s.refuse != 0:
		http.Error(w, "refused", s.refuse)
		return
	}
	s.batches++
	for archive := tar.NewReader(r.Body); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			w.WriteHeader(http.StatusCreated)
			return
		}
		content, readErr := io.ReadAll(archive)
		if sum := sha256.Sum256(content); err != nil || readErr != nil || hex.EncodeToString(sum[:]) != header.Name {
			http.Error(w, "archive", http.StatusUnprocessableEntity)
			return
		}
		s.blobs[header.Name] = content
	}
}

func TestSmallFilesTravelInBatches(t *testing.T) {
	t.Parallel()
	b := setup(t)
	wantOutcome(t, b.run(t, manyFiles("many")), succeeded)
	if n := len(b.server.blobs); n != 2502 { // and the manifest
		t.Errorf("%d blobs", n)
	}
	if b.server.batches != 3 {
		t.Errorf("%d batches", b.server.batches)
	}
}

func TestAServerWithoutBatchesGetsEachFile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.server.mu.Lock()
	b.server.single = true
	b.server.mu.Unlock()
	wantOutcome(t, b.run(t, manyFiles("single")), succeeded)
	if n := len(b.server.blobs); n != 2502 || b.server.batches != 0 {
		t.Errorf("%d blobs, %d batches", n, b.server.batches)
	}
}

func TestBatchesHaveEachHashOnce(t *testing.T) {
	t.Parallel()
	var files []outgoing
	for i := range 10 {
		files = append(files, outgoing{sha: fmt.Sprint(i % 5), size: 10})
	}
	files = append(files, outgoing{sha: "big", size: batchedBelow}, outgoing{sha: "linked", size: 10, handover: "x"})
	batches, others := batched(files)
	if len(batches) != 1 || len(batches[0]) != 5 || len(others) != 2 {
		t.Errorf("batches %v, others %v", batches, others)
	}
	batches, others = batched(files[:2])
	if len(batches) != 0 || len(others) != 2 {
		t.Errorf("two files: batches %v, others %v", batches, others)
	}
}
