package tasks

import (
	"archive/tar"
	"errors"
	"io"
	"net/http"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
)

// maxBatch is the maximum size of a batch from a task, in bytes without its content coding.
const maxBatch = 64 << 20

// putBlobs stores many small outputs in one request. The body is a tar archive; the name of
// each entry is its SHA-256. It returns 409 if the attempt must end.
func (t *API) putBlobs(w http.ResponseWriter, r *http.Request) error {
	ctx, scope, err := t.task(r.Context(), r.Header, "", "")
	if err != nil {
		return err
	}
	if err := t.checkExpected(ctx, scope, r.Header.Get("Authorization")); err != nil {
		return err
	}
	body, err := unpacked(w, r)
	if err != nil {
		return err
	}
	defer body.Close()
	archive := tar.NewReader(http.MaxBytesReader(w, body, maxBatch))
	var buffer []byte
	err = t.Artifacts.TakeOutputs(ctx, func() (artifact.Incoming, error) {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return artifact.Incoming{}, io.EOF
		}
		switch {
		case err != nil:
			return artifact.Incoming{}, badBatch(err)
		case header.Typeflag != tar.TypeReg || header.Size > artifact.MaxBatchBlob:
			return artifact.Incoming{}, apperr.New(apperr.Invalid, "Each entry of a batch is a file of at most %d bytes.", artifact.MaxBatchBlob)
		}
		if int64(cap(buffer)) < header.Size {
			buffer = make([]byte, header.Size)
		}
		buffer = buffer[:header.Size]
		if _, err := io.ReadFull(archive, buffer); err != nil {
			return artifact.Incoming{}, badBatch(err)
		}
		return artifact.Incoming{SHA256: header.Name, Bytes: buffer}, nil
	})
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusCreated)
	return nil
}

func badBatch(err error) error {
	return apperr.Wrap(apperr.Invalid, err, "The batch is not a complete tar archive.")
}
