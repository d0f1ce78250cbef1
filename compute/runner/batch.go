package runner

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/flowforge/flowforge/data/channel"
	"github.com/flowforge/flowforge/data/channel/codec"
)

const (
	batchedBelow  = 256 << 10 // larger files are sent one by one
	packBytes     = 4 << 20   // of the files of a batch
	packFiles     = 1000
	minBatch      = 3 // fewer files are sent one by one
	batchesAtOnce = 3
)

// fileError reports the file that was not sent.
type fileError struct {
	name string
	err  error
}

func (e *fileError) Error() string { return e.name + ": " + e.err.Error() }
func (e *fileError) Unwrap() error { return e.err }

// uploadFiles sends files to the store: small ones in batches, because a request for each
// would take longer than its bytes, and the others one by one. It retries as upload does.
func (s *server) uploadFiles(ctx context.Context, token string, files []outgoing, failed func()) error {
	batches, others := batched(files)
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(batchesAtOnce)
	for _, batch := range batches {
		group.Go(func() error { return s.uploadBatch(groupCtx, token, batch, failed) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, f := range others {
		if err := s.upload(ctx, token, f, failed); err != nil {
			return &fileError{name: filepath.Base(f.path), err: err}
		}
	}
	return nil
}

// batched divides files, each hash once, into batches of small files and the others.
func batched(files []outgoing) (batches [][]outgoing, others []outgoing) {
	seen := make(map[string]bool, len(files))
	var batch []outgoing
	size := int64(0)
	cut := func() {
		if len(batch) < minBatch {
			others = append(others, batch...)
		} else {
			batches = append(batches, batch)
		}
		batch, size = nil, 0
	}
	for _, f := range files {
		if seen[f.sha] {
			continue
		}
		seen[f.sha] = true
		if f.size >= batchedBelow || f.handover != "" {
			others = append(others, f)
			continue
		}
		if len(batch) == packFiles || size+f.size > packBytes {
			cut()
		}
		batch, size = append(batch, f), size+f.size
	}
	cut()
	return batches, others
}

// uploadBatch sends the files of a batch in one request. A server that does not know
// batches gets them one by one.
func (s *server) uploadBatch(ctx context.Context, token string, files []outgoing, failed func()) error {
	if !s.single.Load() {
		body, err := s.pack(files)
		if err != nil {
			return err
		}
		err = s.persistently(ctx, failed, func() error { return s.putBatch(ctx, token, body) })
		refused, final := errors.AsType[*refusedError](err)
		if !final || refused.status != http.StatusNotFound && refused.status != http.StatusMethodNotAllowed {
			return err
		}
		s.single.Store(true)
	}
	for _, f := range files {
		if err := s.upload(ctx, token, f, failed); err != nil {
			return &fileError{name: filepath.Base(f.path), err: err}
		}
	}
	return nil
}

// pack returns a tar archive of files, each named by its hash.
func (s *server) pack(files []outgoing) ([]byte, error) {
	var packed bytes.Buffer
	compressed, err := codec.NewWriter(&packed, s.batchCoding())
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(compressed)
	for _, f := range files {
		content, err := os.ReadFile(f.path)
		if err == nil && int64(len(content)) != f.size {
			err = fmt.Errorf("it has %d bytes instead of %d: it was changed after the task ended", len(content), f.size)
		}
		if err != nil {
			return nil, &fileError{name: filepath.Base(f.path), err: &refusedError{message: fmt.Sprintf("read output: %v", err)}}
		}
		if err := archive.WriteHeader(&tar.Header{Name: f.sha, Mode: 0o600, Size: f.size}); err != nil {
			return nil, err
		}
		if _, err := archive.Write(content); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(archive.Close(), compressed.Close()); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// batchCoding returns the compression of batches: none on the way to a server of this
// machine.
func (s *server) batchCoding() channel.Compression {
	if s.local {
		return channel.None
	}
	return channel.Zstd
}

func (s *server) putBatch(ctx context.Context, token string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base+"/api/v1/task/blobs", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/x-tar")
	if coding := s.batchCoding(); coding != channel.None {
		req.Header.Set("Content-Encoding", string(coding))
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return answerError(http.MethodPost, "batch", resp)
	}
	return resp.Body.Close()
}
