package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/flowforge/flowforge/data/channel"
	"github.com/flowforge/flowforge/data/channel/codec"
)

// outgoing is a file to be sent to the store.
type outgoing struct {
	sha  string
	path string
	size int64
	// handover is the path at which the store of this machine adopts the file; "" where
	// it cannot.
	handover string
}

// handoverPath returns the path at which the store in dir adopts a file of the task; ""
// for files that are too small.
func handoverPath(dir, task, sha string, size int64) string {
	if dir == "" || size < linkAtLeast || !plainName(task) {
		return ""
	}
	return filepath.Join(dir, "handover", task+"."+sha)
}

// offerFile lets the store of this machine adopt the file without a copy. It returns false
// when the file must be sent.
func (s *server) offerFile(ctx context.Context, token string, f outgoing) (bool, error) {
	_ = os.Remove(f.handover) // left by an interrupted try
	if err := os.Link(f.path, f.handover); err != nil {
		return false, nil //nolint:nilerr // another file system, or no such folder: send it
	}
	resp, err := s.post(ctx, s.blobURL(f.sha)+"/adopt", token)
	if err != nil {
		return false, errors.Join(err, os.Remove(f.handover))
	}
	if resp.StatusCode == http.StatusCreated {
		return true, resp.Body.Close()
	}
	_ = os.Remove(f.handover)
	err = answerError(http.MethodPost, f.sha, resp)
	refused, final := errors.AsType[*refusedError](err)
	if final && refused.status != http.StatusUnauthorized {
		return false, nil // sending it reports the error, if there is one
	}
	return false, err
}

// put sends the file to the server, compressed where that pays.
func (s *server) put(ctx context.Context, token string, f outgoing) error {
	file, err := os.Open(f.path)
	if err != nil {
		return &refusedError{message: fmt.Sprintf("read output: %v", err)}
	}
	defer file.Close()
	packing, err := s.packing(f, file)
	if err != nil {
		return &refusedError{message: fmt.Sprintf("read output: %v", err)}
	}
	if packing != channel.None {
		err := s.putPacked(ctx, token, f.sha, file, packing)
		refused, final := errors.AsType[*refusedError](err)
		switch {
		case err == nil:
			return nil
		case !final, refused.status == http.StatusUnauthorized, refused.status == http.StatusConflict:
			return err
		}
		s.plain.Store(true) // an older server accepts only uncompressed bytes
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return &refusedError{message: fmt.Sprintf("read output: %v", err)}
		}
	}
	resp, err := s.blobRequest(ctx, http.MethodPut, f.sha, token, requestBody{Reader: file, size: f.size})
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// packing returns the compression of the file for a server on another machine. It leaves
// the file at its beginning.
func (s *server) packing(f outgoing, file *os.File) (channel.Compression, error) {
	packing := channel.PackFor(f.size, "", filepath.Base(f.path))
	if s.local || s.plain.Load() || packing == channel.None {
		return channel.None, nil
	}
	sample := make([]byte, min(codec.SampleBytes, f.size))
	n, err := file.ReadAt(sample, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return channel.None, err
	}
	if !codec.Pays(sample[:n], packing) {
		return channel.None, nil
	}
	return packing, nil
}

func (s *server) putPacked(ctx context.Context, token, sha string, file io.Reader, packing channel.Compression) error {
	r, w := io.Pipe()
	packed, err := codec.NewWriter(w, packing)
	if err != nil {
		return &refusedError{message: err.Error()}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err := io.Copy(packed, file)
		if err == nil {
			err = packed.Close()
		}
		_ = w.CloseWithError(err)
	}()
	resp, err := s.blobRequest(ctx, http.MethodPut, sha, token, requestBody{Reader: r, size: -1, coding: string(packing)})
	_ = r.Close() // ends the copy when the server did not read everything
	<-done
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
