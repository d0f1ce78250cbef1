package catalogue

import (
	"errors"
	"io"
	"net/http"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// maxRegisterForm limits the size of the form: a document as text and as a file.
const maxRegisterForm = 2*workflow.MaxDocumentBytes + 1<<20

// registerPage accepts definitions as text or as a file.
func (h *Pages) registerPage(w http.ResponseWriter, r *http.Request) error {
	if _, err := auth.Authorize(r.Context(), auth.WorkflowWrite); err != nil {
		return err
	}
	return h.renderRegister(w, r, http.StatusOK, views.Register{})
}

func (h *Pages) renderRegister(w http.ResponseWriter, r *http.Request, status int, m views.Register) error {
	m.Page = h.Page.Base(r, "Register a workflow", views.SectionWorkflows, views.Crumb{Name: "Workflows", URL: views.WorkflowsURL()})
	return web.Render(w, r, status, views.RegisterPage(m))
}

// register registers every definition of the document. It redirects to the launch form of
// the last one, or to its page if it cannot be launched alone or has notices.
func (h *Pages) register(w http.ResponseWriter, r *http.Request) error {
	if _, err := auth.Authorize(r.Context(), auth.WorkflowWrite); err != nil {
		return err
	}
	text, err := sentDocument(w, r)
	if err != nil {
		return err
	}
	documents := workflow.Documents(text)
	if len(documents) == 0 {
		return h.renderRegister(w, r, http.StatusUnprocessableEntity, views.Register{Failed: "The document contains no definition."})
	}
	documents = h.Workflows.Gather(documents)
	var last workflow.Version
	for _, i := range h.Workflows.InOrder(documents) {
		if documents[i] == nil {
			continue
		}
		if last, _, err = h.Workflows.Register(r.Context(), documents[i]); err != nil {
			return h.refuseRegister(w, r, text, err)
		}
	}
	to := views.WorkflowURL(last.Name) + "/launch"
	if len(last.Plan.Nodes) == 0 || len(last.Definition.Notices) > 0 {
		to = views.WorkflowURL(last.Name)
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}

// refuseRegister shows the errors next to the submitted document.
func (h *Pages) refuseRegister(w http.ResponseWriter, r *http.Request, text []byte, err error) error {
	code := apperr.CodeOf(err)
	if code != apperr.Invalid && code != apperr.Conflict {
		return err
	}
	m := views.Register{Document: string(text), Failed: err.Error()}
	if e, ok := errors.AsType[*apperr.Error](err); ok {
		m.Failed = e.Message
	}
	for _, f := range apperr.FieldsOf(err) {
		m.Problems = append(m.Problems, views.RegisterProblem{Path: f.Path, Message: f.Message})
	}
	return h.renderRegister(w, r, web.Status(code), m)
}

// sentDocument is the selected file, or else the text.
func sentDocument(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxRegisterForm)
	if err := r.ParseMultipartForm(1 << 20); err != nil && !errors.Is(err, http.ErrNotMultipart) { //nolint:gosec // bounded one line above
		return nil, apperr.Wrap(apperr.Invalid, err, "The upload was interrupted. Send the form again.")
	}
	if r.MultipartForm != nil { // the server removes the files of its own copy of the request only
		defer func() { _ = r.MultipartForm.RemoveAll() }()
	}
	file, header, err := r.FormFile("file")
	if err == nil && header.Size > 0 {
		defer file.Close()
		text, err := io.ReadAll(file)
		if err != nil {
			return nil, apperr.Wrap(apperr.Invalid, err, "The file could not be read. Send it again.")
		}
		return text, nil
	}
	return []byte(typedLines(r.PostFormValue("document"))), nil
}
