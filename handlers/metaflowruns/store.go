package metaflowruns

import (
	"net/http"
	"strings"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/metaflow/datastore"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// store shows where the client stores the data of the project.
func (h *Pages) store(w http.ResponseWriter, r *http.Request) error {
	p, err := h.Datastores.Get(r.Context())
	if err != nil {
		return err
	}
	notice := ""
	if r.URL.Query().Get("saved") != "" {
		notice = "The datastore was changed."
	}
	return h.renderStore(w, r, http.StatusOK, p, &views.DatastoreForm{}, notice)
}

// setStore sets or tests the datastore of the form.
func (h *Pages) setStore(w http.ResponseWriter, r *http.Request) error {
	typed := datastore.Place{
		Kind: datastore.Kind(r.PostFormValue("kind")), Root: r.PostFormValue("root"), Endpoint: r.PostFormValue("endpoint"), Region: r.PostFormValue("region"),
		AccessKeySecret: r.PostFormValue("access_key_secret"), SecretKeySecret: r.PostFormValue("secret_key_secret"), SessionTokenSecret: r.PostFormValue("session_token_secret"),
	}
	if r.PostFormValue("do") == "test" {
		found, err := h.Datastores.Test(r.Context(), typed)
		if err == nil {
			return h.renderStore(w, r, http.StatusOK, typed, &views.DatastoreForm{Tested: found.Message, OK: found.OK}, "")
		}
		return h.refusedStore(w, r, typed, err)
	}
	if _, err := h.Datastores.Put(r.Context(), typed); err != nil {
		return h.refusedStore(w, r, typed, err)
	}
	http.Redirect(w, r, views.MetaflowDatastoreURL()+"?saved=yes", http.StatusSeeOther)
	return nil
}

// refusedStore draws the form with the errors of its fields; other errors are those of the request.
func (h *Pages) refusedStore(w http.ResponseWriter, r *http.Request, typed datastore.Place, err error) error {
	fields := apperr.FieldsOf(err)
	if len(fields) == 0 {
		return err
	}
	form := &views.DatastoreForm{Failed: apperr.MessageOf(err)}
	for _, f := range fields {
		form.Fields = append(form.Fields, views.DatastoreField{Name: f.Path, Error: f.Message})
	}
	return h.renderStore(w, r, web.Status(apperr.CodeOf(err)), typed, form, "")
}

func (h *Pages) renderStore(w http.ResponseWriter, r *http.Request, status int, typed datastore.Place, form *views.DatastoreForm, notice string) error {
	now, err := h.Datastores.Get(r.Context())
	if err != nil {
		return err
	}
	m := views.MetaflowDatastore{
		Page: h.Page.Base(r, "Datastore", views.SectionExecutions,
			views.Crumb{Name: "Executions", URL: views.ExecutionsURL()}, views.Crumb{Name: "Metaflow", URL: views.MetaflowRunsURL()}),
		Notice: notice, Facts: h.storeFacts(r, now),
	}
	var lines []string
	for _, variable := range now.Environment() {
		lines = append(lines, "export "+variable[0]+"='"+strings.ReplaceAll(variable[1], "'", `'\''`)+"'")
	}
	m.Environment = strings.Join(lines, "\n")
	subject, _ := auth.SubjectOf(r.Context())
	if !subject.May(auth.TenancyWrite, subject.ProjectID) {
		return web.Render(w, r, status, views.MetaflowDatastorePage(m))
	}
	problems := map[string]string{}
	for _, f := range form.Fields {
		problems[f.Name] = f.Error
	}
	form.Fields = storeFields(typed, problems)
	form.Kinds = []ui.Option{
		{Value: "local", Name: "Folder on the server", Selected: typed.Kind != datastore.S3},
		{Value: "s3", Name: "Bucket (S3)", Selected: typed.Kind == datastore.S3},
	}
	secrets, err := h.Secrets.List(r.Context())
	if err != nil {
		return err
	}
	for _, s := range secrets {
		form.Secrets = append(form.Secrets, s.Name)
	}
	m.Form = form
	return web.Render(w, r, status, views.MetaflowDatastorePage(m))
}

func (h *Pages) storeFacts(r *http.Request, p datastore.Place) []ui.Fact {
	kind := "Folder on the server"
	if p.Own {
		kind = "The project's own folder"
	} else if p.Kind == datastore.S3 {
		kind = "Bucket (S3)"
	}
	facts := []ui.Fact{{Name: "Kind", Value: kind}, {Name: "Root", Value: p.Root, Mono: true}}
	for _, f := range []ui.Fact{{Name: "Endpoint", Value: p.Endpoint, Mono: true}, {Name: "Region", Value: p.Region}, {Name: "Credentials", Value: p.AccessKeySecret}, {Name: "Changed by", Value: p.UpdatedBy}} {
		if f.Value != "" {
			facts = append(facts, f)
		}
	}
	if !p.UpdatedAt.IsZero() {
		at := h.Page.Clock(r).Moment(p.UpdatedAt)
		facts = append(facts, ui.Fact{Name: "Changed", Moment: &at})
	}
	return facts
}

// storeFields are the fields of the form with what was typed.
func storeFields(p datastore.Place, problems map[string]string) []views.DatastoreField {
	if p.Own {
		p.Root = ""
	}
	fields := []views.DatastoreField{
		{Name: "root", Label: "Root", Help: "Enter s3://bucket/prefix for a bucket, or leave empty for the project's own folder. Installation administrators can enter another folder.", Value: p.Root},
		{Name: "endpoint", Label: "Endpoint", Help: "Only for buckets outside AWS: the address of the store, such as https://minio.example.com:9000.", Value: p.Endpoint},
		{Name: "region", Label: "Region", Help: "Only for buckets; us-east-1 by default.", Value: p.Region},
		{Name: "access_key_secret", Label: "Secret with the access key ID", Help: "Leave empty for a public bucket.", Value: p.AccessKeySecret, Secret: true},
		{Name: "secret_key_secret", Label: "Secret with the secret access key", Help: "The server signs its requests with it.", Value: p.SecretKeySecret, Secret: true},
		{Name: "session_token_secret", Label: "Secret with the session token", Help: "Only for temporary credentials.", Value: p.SessionTokenSecret, Secret: true},
	}
	for i := range fields {
		fields[i].Error = problems[fields[i].Name]
	}
	return fields
}
