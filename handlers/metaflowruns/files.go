package metaflowruns

import (
	"io"
	"mime"
	"net/http"
	"strconv"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/metaflow"
	"github.com/flowforge/flowforge/data/metaflow/datastore"
	"github.com/flowforge/flowforge/handlers/content"
	"github.com/flowforge/flowforge/handlers/request"
)

// taskIn is the task in the path of r.
func taskIn(r *http.Request) datastore.Task {
	return datastore.Task{Flow: request.PathValue(r, "flow"), Run: request.PathValue(r, "run"), Step: request.PathValue(r, "step"), ID: request.PathValue(r, "task")}
}

// attemptIn is the attempt in the query of r, or the latest.
func attemptIn(r *http.Request) (int64, error) {
	text := r.URL.Query().Get("attempt")
	if text == "" {
		return metaflow.LatestAttempt, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, apperr.New(apperr.Invalid, "attempt: enter the number of an attempt, not %q.", text)
	}
	return n, nil
}

// openTask opens the datastore for a task that the project has: names of other tasks are not found.
func (h *Pages) openTask(r *http.Request) (datastore.Store, datastore.Task, metaflow.TaskProgress, error) {
	t := taskIn(r)
	_, progress, err := h.Records.TaskProgress(r.Context(), t.Flow, t.Run, t.Step, t.ID)
	if err != nil {
		return nil, t, progress, err
	}
	store, err := h.Datastores.Open(r.Context())
	return store, t, progress, err
}

func attachment(name string) map[string]string {
	return map[string]string{
		"Content-Disposition":     mime.FormatMediaType("attachment", map[string]string{"filename": name}),
		"Content-Type":            "application/octet-stream",
		"Content-Security-Policy": "sandbox; default-src 'none'",
	}
}

// send sends a file of the datastore.
func send(w http.ResponseWriter, r *http.Request, file io.ReadCloser, size int64, header map[string]string) error {
	defer func() { _ = file.Close() }() // only read
	for name, value := range header {
		w.Header().Set(name, value)
	}
	if size >= 0 {
		w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	}
	if _, err := io.Copy(w, file); err != nil && r.Context().Err() == nil {
		panic(http.ErrAbortHandler) // so that a part does not look complete
	}
	return nil
}

// card sends the HTML of a card for its sandboxed frame.
func (h *Pages) card(w http.ResponseWriter, r *http.Request) error {
	if _, err := auth.Authorize(r.Context(), auth.ArtifactRead); err != nil {
		return err
	}
	store, t, _, err := h.openTask(r)
	if err != nil {
		return err
	}
	file, size, err := datastore.OpenCard(r.Context(), store, t, request.PathValue(r, "file"))
	if err != nil {
		return err
	}
	return send(w, r, file, size, map[string]string{"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": content.ReportPolicy})
}

// log sends the log of an attempt as text.
func (h *Pages) log(w http.ResponseWriter, r *http.Request) error {
	if _, err := auth.Authorize(r.Context(), auth.LogRead); err != nil {
		return err
	}
	store, t, progress, err := h.openTask(r)
	if err != nil {
		return err
	}
	attempt, err := attemptIn(r)
	if err != nil {
		return err
	}
	if attempt < 0 {
		attempt = latest(&progress)
	}
	for name, value := range attachment(datastore.LogName(t, attempt)) {
		w.Header().Set(name, value)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	to := &download{w: w}
	err = datastore.WriteLog(r.Context(), store, t, attempt, to)
	if err != nil && to.any {
		panic(http.ErrAbortHandler) // so that a part does not look complete
	}
	if err != nil {
		w.Header().Del("Content-Disposition")
	}
	return err
}

// download records whether anything was written.
type download struct {
	w   io.Writer
	any bool
}

// Write implements io.Writer.
func (b *download) Write(p []byte) (int, error) {
	b.any = true
	return b.w.Write(p) //nolint:wrapcheck // a pass-through
}

// latest is the number of the latest attempt of a task.
func latest(t *metaflow.TaskProgress) int64 {
	if len(t.Attempts) == 0 {
		return 0
	}
	return t.Attempts[len(t.Attempts)-1].Number
}
