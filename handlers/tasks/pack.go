package tasks

import (
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/channel"
	"github.com/flowforge/flowforge/data/channel/codec"
)

// adoptBlob adopts a file that the caller's runner put into the store's folder. It returns 409 if
// that is impossible; the runner then uploads the file.
func (t *API) adoptBlob(w http.ResponseWriter, r *http.Request) error {
	ctx, scope, err := t.task(r.Context(), r.Header, "", "")
	if err != nil {
		return err
	}
	if err := t.checkExpected(ctx, scope, r.Header.Get("Authorization")); err != nil {
		return err
	}
	if _, err := t.Artifacts.AdoptOutput(ctx, taskIDOf(scope), chi.URLParam(r, "sha")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusCreated)
	return nil
}

// packingFor is the compression that the reader of a blob requests.
func packingFor(accept string) channel.Compression {
	for name := range strings.SplitSeq(accept, ",") {
		switch c := channel.Compression(strings.TrimSpace(name)); c {
		case channel.LZ4, channel.Zstd:
			return c
		}
	}
	return channel.None
}

// sendBlob writes a blob. It compresses the blob if the reader requests this and a sample of its
// first bytes compresses well.
func sendBlob(w http.ResponseWriter, reader *artifact.Reader, c channel.Compression) error {
	header := w.Header()
	header.Set("Vary", "Accept-Encoding")
	if c == channel.None {
		_, err := io.Copy(w, reader)
		return err
	}
	sample := make([]byte, min(codec.SampleBytes, reader.Size()))
	n, err := io.ReadFull(reader, sample)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return err
	}
	if sample = sample[:n]; !codec.Pays(sample, c) {
		if _, err := w.Write(sample); err != nil {
			return err
		}
		_, err := io.Copy(w, reader)
		return err
	}
	header.Del("Content-Length")
	header.Set("Content-Encoding", string(c))
	packed, err := codec.NewWriter(w, c)
	if err != nil {
		return err
	}
	if _, err := packed.Write(sample); err != nil {
		return err
	}
	if _, err := io.Copy(packed, reader); err != nil {
		return err // without Close, so that the reader detects the missing end
	}
	return packed.Close()
}

// unpacked is the decoded body of a request. The same limit applies to decoded and plain bytes.
func unpacked(w http.ResponseWriter, r *http.Request) (io.ReadCloser, error) {
	c := channel.Compression(r.Header.Get("Content-Encoding"))
	if c == "identity" {
		c = channel.None
	}
	if !c.Known() {
		return nil, apperr.New(apperr.Invalid, "The content coding %q is not supported. Use lz4 or zstd.", string(c))
	}
	body := http.MaxBytesReader(w, r.Body, maxTaskBlob)
	if c == channel.None {
		return body, nil
	}
	plain, err := codec.NewReader(body, c)
	if err != nil {
		return nil, err
	}
	return http.MaxBytesReader(w, plain, maxTaskBlob), nil
}
