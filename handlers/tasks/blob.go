package tasks

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/web"
)

// maxTaskBlob is the maximum size of a file from a task in bytes.
const maxTaskBlob = 64 << 30

// getBlob returns the bytes of a task's code or inputs by their hash. HEAD reports whether the
// project already has them.
func (t *API) getBlob(w http.ResponseWriter, r *http.Request) error {
	ctx, scope, err := t.task(r.Context(), r.Header, "", "")
	if err != nil {
		return err
	}
	sha := chi.URLParam(r, "sha")
	if r.Method != http.MethodHead {
		if err := t.Executions.Tasks.InputBlob(ctx, sha); err != nil {
			return err
		}
	}
	blob, err := t.Artifacts.Blob(ctx, scope.ProjectID, sha, "")
	if err != nil {
		return err
	}
	header := w.Header()
	header.Set("Content-Type", "application/octet-stream")
	header.Set("Content-Length", strconv.FormatInt(blob.Size, 10))
	header.Set("ETag", `"`+sha+`"`)
	if r.Method == http.MethodHead {
		return nil
	}
	link, err := t.Artifacts.TaskLink(ctx, scope.ProjectID, sha)
	if err != nil {
		return err
	}
	if link != "" {
		header.Del("Content-Length")
		header.Set("Cache-Control", "no-store")
		http.Redirect(w, r, link, http.StatusTemporaryRedirect)
		return nil
	}
	reader, err := t.Artifacts.OpenBlob(ctx, scope.ProjectID, sha)
	if err != nil {
		return err
	}
	defer reader.Close()
	if err := sendBlob(w, reader, packingFor(r.Header.Get("Accept-Encoding"))); err != nil {
		// The header has the length, so aborting shows the client that bytes are missing.
		t.Log.Warn("a blob was not sent to a task completely", "blob", sha, "error", err)
		panic(http.ErrAbortHandler)
	}
	return nil
}

// putBlob stores the bytes of an output. They must have the hash in the path. It returns
// Conflict if the attempt must end.
func (t *API) putBlob(w http.ResponseWriter, r *http.Request) error {
	ctx, scope, err := t.task(r.Context(), r.Header, "", "")
	if err != nil {
		return err
	}
	if err := t.checkExpected(ctx, scope, r.Header.Get("Authorization")); err != nil {
		return err
	}
	if r.ContentLength > maxTaskBlob {
		http.Error(w, "A file of a task can be at most 64 GiB.", http.StatusRequestEntityTooLarge)
		return nil
	}
	body, err := unpacked(w, r)
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = t.Artifacts.TakeOutput(ctx, body, chi.URLParam(r, "sha"))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		http.Error(w, "A file of a task can be at most 64 GiB.", http.StatusRequestEntityTooLarge)
		return nil
	}
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusCreated)
	return nil
}

// planUpload returns how to upload the bytes of an output: 204, they already exist; 200, with
// the request in the response, followed by complete; 409, with PUT to the server.
func (t *API) planUpload(w http.ResponseWriter, r *http.Request) error {
	ctx, scope, err := t.task(r.Context(), r.Header, "", "")
	if err != nil {
		return err
	}
	if err := t.checkExpected(ctx, scope, r.Header.Get("Authorization")); err != nil {
		return err
	}
	size, err := strconv.ParseInt(r.URL.Query().Get("size"), 10, 64)
	if err != nil || size < 0 || size > maxTaskBlob {
		return apperr.New(apperr.Invalid, "size must be a number of bytes, at most 64 GiB.")
	}
	plan, err := t.Artifacts.PlanUpload(ctx, taskIDOf(scope), artifact.Blob{SHA256: chi.URLParam(r, "sha"), Size: size})
	switch {
	case err != nil:
		return err
	case plan.There:
		w.WriteHeader(http.StatusNoContent)
	case plan.Request == nil:
		return apperr.New(apperr.Conflict, "Send the file to the server.")
	default:
		web.WriteJSON(w, http.StatusOK, "application/json", plan.Request)
	}
	return nil
}

// completeUpload registers bytes that the task sent directly to the store.
func (t *API) completeUpload(w http.ResponseWriter, r *http.Request) error {
	ctx, scope, err := t.task(r.Context(), r.Header, "", "")
	if err != nil {
		return err
	}
	if err := t.checkExpected(ctx, scope, r.Header.Get("Authorization")); err != nil {
		return err
	}
	if err := t.Artifacts.FinishUpload(ctx, taskIDOf(scope), chi.URLParam(r, "sha")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusCreated)
	return nil
}

// checkExpected rejects an attempt that must end. The upload also counts as a heartbeat.
func (t *API) checkExpected(ctx context.Context, scope auth.TaskScope, authorization string) error {
	results, err := t.Executions.Supervisor.Deliver(auth.AsSystem(ctx), []*flowforgev1.AttemptReport{{
		TaskId: taskIDOf(scope), Token: authorization[len("Bearer "):],
		Report: &flowforgev1.AttemptReport_Heartbeat{Heartbeat: &flowforgev1.Heartbeat{Timestamp: t.Now().UnixMilli()}},
	}})
	if err != nil {
		return err
	}
	if !results[0].GetAccepted() || results[0].GetCancel() {
		return apperr.New(apperr.Conflict, "The attempt is no longer running.")
	}
	return nil
}
