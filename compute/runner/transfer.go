package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"

	"github.com/flowforge/flowforge/data/channel"
)

// directTries is how often a file is offered to the store itself before it goes
// through the server.
const directTries = 3

// uploadPermit is the server's leave to give a blob to the store itself.
type uploadPermit struct {
	URL     string            `json:"url"`
	Method  string            `json:"method"`
	Headers map[string]string `json:"headers"`
}

// getBlob returns an answer whose body is the blob, of the server or of the store
// that it points to. The attempt's token is for the server alone.
// packing is how the server may pack it; its header Content-Encoding says whether it did.
func (s *server) getBlob(ctx context.Context, sha, token string, packing channel.Compression) (*http.Response, error) {
	resp, err := s.blobRequest(ctx, http.MethodGet, sha, token, requestBody{accept: string(packing)})
	if err != nil || resp.StatusCode != http.StatusTemporaryRedirect {
		return resp, err
	}
	_ = resp.Body.Close()
	location, err := resp.Location()
	if err != nil {
		return nil, fmt.Errorf("fetch blob %.12s: %w", sha, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, location.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("fetch blob %.12s: %w", sha, err)
	}
	req.Header.Set("Accept-Encoding", "identity")
	if resp, err = s.store.Do(req); err != nil {
		return nil, fmt.Errorf("fetch blob %.12s from the store: %w", sha, err)
	}
	if resp.StatusCode != http.StatusOK {
		// The address may have expired; the server gives another one.
		err := answerError(http.MethodGet, sha, resp)
		return nil, fmt.Errorf("fetch blob %.12s from the store: %s", sha, err.Error())
	}
	return resp, nil
}

// upload sends the file at path unless the server has the blob already: to the
// store where the server says so, else through the server. It repeats until it
// is taken or refused, or ctx ends; failed is called once after the first try
// that found no server.
func (s *server) upload(ctx context.Context, token string, f outgoing, failed func()) error {
	tries := 0
	return s.persistently(ctx, failed, func() error {
		if tries < directTries && !s.through.Load() {
			done, err := s.uploadDirect(ctx, token, f.sha, f.path, f.size)
			if done || err == nil {
				return err
			}
			if !errors.Is(err, errSendIt) {
				tries++
				return err
			}
		}
		return s.uploadThrough(ctx, token, f)
	})
}

// errSendIt says that the file goes through the server.
var errSendIt = errors.New("the server takes the file itself")

// uploadDirect asks the server where the file goes and gives it to the store.
// done says that err is the end of it.
func (s *server) uploadDirect(ctx context.Context, token, sha, path string, size int64) (done bool, err error) {
	resp, err := s.post(ctx, s.blobURL(sha)+"/upload?size="+strconv.FormatInt(size, 10), token)
	if err != nil {
		return false, err
	}
	switch resp.StatusCode {
	case http.StatusNoContent:
		return true, resp.Body.Close()
	case http.StatusOK:
	case http.StatusConflict, http.StatusNotFound, http.StatusMethodNotAllowed:
		_ = resp.Body.Close()
		s.through.Store(true)
		return false, errSendIt
	default:
		err := answerError(http.MethodPost, sha, resp)
		_, refused := errors.AsType[*refusedError](err)
		return refused, err
	}
	var t uploadPermit
	err = json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&t)
	_ = resp.Body.Close()
	if err != nil {
		return false, fmt.Errorf("upload of blob %.12s: %w", sha, err)
	}
	if err := s.give(ctx, t, sha, path, size); err != nil {
		_, refused := errors.AsType[*refusedError](err)
		return refused, err
	}
	resp, err = s.post(ctx, s.blobURL(sha)+"/complete", token)
	if err != nil {
		return false, err
	}
	if resp.StatusCode >= 300 {
		err := answerError(http.MethodPost, sha, resp)
		_, refused := errors.AsType[*refusedError](err)
		return refused, err
	}
	return true, resp.Body.Close()
}

func (s *server) post(ctx context.Context, url, token string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	return s.http.Do(req)
}

// give sends the file to the store. The ticket alone allows it.
func (s *server) give(ctx context.Context, t uploadPermit, sha, path string, size int64) error {
	file, err := os.Open(path)
	if err != nil {
		return &refusedError{message: fmt.Sprintf("read output: %v", err)}
	}
	defer file.Close()
	method := t.Method
	if method == "" {
		method = http.MethodPut
	}
	req, err := http.NewRequestWithContext(ctx, method, t.URL, file)
	if err != nil {
		return fmt.Errorf("upload of blob %.12s: %w", sha, err)
	}
	req.ContentLength = size
	if size == 0 {
		req.Body = http.NoBody
	}
	for name, value := range t.Headers {
		req.Header.Set(name, value)
	}
	resp, err := s.store.Do(req)
	if err != nil {
		return fmt.Errorf("upload of blob %.12s to the store: %w", sha, err)
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("upload of blob %.12s to the store: %s", sha, answerError(method, sha, resp).Error())
	}
	return resp.Body.Close()
}

// uploadThrough gives the file to the server, unless that has the blob.
func (s *server) uploadThrough(ctx context.Context, token string, f outgoing) error {
	resp, err := s.blobRequest(ctx, http.MethodHead, f.sha, token, requestBody{})
	if err == nil {
		return resp.Body.Close()
	}
	if refused, ok := errors.AsType[*refusedError](err); !ok || refused.status != http.StatusNotFound {
		return err
	}
	if f.handover != "" {
		if taken, err := s.handOver(ctx, token, f); taken || err != nil {
			return err
		}
	}
	return s.put(ctx, token, f)
}
