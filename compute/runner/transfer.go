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

// directTries is how often an upload to the store is tried before the file goes through
// the server.
const directTries = 3

// uploadPermit is the server's permission to upload a blob to the store directly.
type uploadPermit struct {
	URL     string            `json:"url"`
	Method  string            `json:"method"`
	Headers map[string]string `json:"headers"`
}

// getBlob returns a response whose body is the blob, from the server or from the store to
// which it redirects. Only the server receives the attempt's token. packing is the
// compression that the server may use; the response header Content-Encoding reports whether
// it did.
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
		// The address may have expired; the server returns a new one.
		err := answerError(http.MethodGet, sha, resp)
		return nil, fmt.Errorf("fetch blob %.12s from the store: %s", sha, err.Error())
	}
	return resp, nil
}

// upload sends the file at path unless the server has the blob already: directly to the
// store if the server permits it, else through the server. It retries until the file is
// accepted or refused, or ctx is cancelled; failed is called once after the first try
// that does not reach a server.
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

// errSendIt reports that the file goes through the server.
var errSendIt = errors.New("the file goes through the server")

// uploadDirect asks the server for the file's destination and uploads it to the store.
// With done, err is final.
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

// give uploads the file to the store. The permit is the only authorisation.
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

// uploadThrough sends the file through the server unless the server has the blob.
func (s *server) uploadThrough(ctx context.Context, token string, f outgoing) error {
	resp, err := s.blobRequest(ctx, http.MethodHead, f.sha, token, requestBody{})
	if err == nil {
		return resp.Body.Close()
	}
	if refused, ok := errors.AsType[*refusedError](err); !ok || refused.status != http.StatusNotFound {
		return err
	}
	if f.handover != "" {
		if taken, err := s.offerFile(ctx, token, f); taken || err != nil {
			return err
		}
	}
	return s.put(ctx, token, f)
}
