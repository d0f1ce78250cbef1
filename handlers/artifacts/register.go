package artifacts

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// registerForm is the form that registers an artifact, with what was sent and why it was refused.
func registerForm(ctx context.Context, a artifact.Artifact, sent url.Values, refused error) views.RegisterArtifact {
	var form views.RegisterArtifact
	if refused != nil {
		form.Failed = apperr.MessageOf(refused)
	}
	kind := typeregistry.Kind(a.Kind)
	subject, ok := auth.SubjectOf(ctx)
	if !ok || !slices.Contains([]typeregistry.Kind{typeregistry.KindModel, typeregistry.KindDataset}, kind) || !subject.May(auth.CatalogueWrite, a.ProjectID) || subject.ProjectID != a.ProjectID {
		return form
	}
	form.URL, form.Title = views.RegisterArtifactURL(a.ID.String()), "Register as a dataset"
	form.Fields = []views.RegisterField{
		{Name: "name", Label: "Name", Required: true}, {Name: "version", Label: "Version", Required: true}, {Name: "description", Label: "Description"},
	}
	if kind == typeregistry.KindModel {
		form.Title = "Register as a model"
		form.Fields = append(form.Fields, views.RegisterField{Name: "test_set", Label: "Test set", Help: "The test set of its metrics, such as digits-test@1."})
	}
	for i := range form.Fields {
		f := &form.Fields[i]
		f.Value = sent.Get(f.Name)
		for _, problem := range apperr.FieldsOf(refused) {
			if problem.Path == f.Name {
				f.Error = problem.Message
			}
		}
	}
	if apperr.Is(refused, apperr.Conflict) { // the version exists
		form.Fields[1].Error = form.Failed
	}
	return form
}

// offeredNames is how many entries of the catalogue are read for the names that the form suggests.
const offeredNames = 100

// offerNames suggests the registered names, with their newest versions.
func (h *Pages) offerNames(ctx context.Context, form *views.RegisterArtifact, kind typeregistry.Kind) error {
	if form.URL == "" {
		return nil
	}
	entries, err := h.Catalogue.Search(ctx, catalogue.Filter{Kind: kind, Limit: offeredNames})
	if err != nil {
		return err
	}
	name := &form.Fields[0]
	for _, e := range entries {
		if e.ArtifactID == nil && !slices.ContainsFunc(name.Offers, func(o ui.Option) bool { return o.Value == e.Name }) {
			name.Offers = append(name.Offers, ui.Option{Value: e.Name, Name: "newest version " + e.Version})
		}
	}
	return nil
}

// register registers an artifact as a version of a model or a dataset.
func (h *Pages) register(w http.ResponseWriter, r *http.Request) error {
	a, err := h.Content.Artifact(r)
	if err != nil {
		return err
	}
	if err := r.ParseForm(); err != nil {
		return apperr.Wrap(apperr.Invalid, err, "The upload was interrupted. Send the form again.")
	}
	sent := r.PostForm
	e := catalogue.Entry{
		Kind: typeregistry.Kind(a.Kind), Name: sent.Get("name"), Version: sent.Get("version"), Description: sent.Get("description"), From: &a.ID,
		Facts: catalogue.Facts{TestSet: sent.Get("test_set")},
	}
	register := h.Catalogue.Register
	if e.Kind == typeregistry.KindModel {
		register = h.Registry.Register
	}
	e, _, err = register(r.Context(), e)
	switch code := apperr.CodeOf(err); {
	case err == nil && e.Kind == typeregistry.KindModel:
		http.Redirect(w, r, views.ModelURL(e.Name, e.Version), http.StatusSeeOther)
		return nil
	case err == nil:
		http.Redirect(w, r, views.DatasetURL(string(e.Kind), e.Name, e.Version), http.StatusSeeOther)
		return nil
	case code == apperr.Invalid || code == apperr.Conflict:
		return h.render(w, r, web.Status(code), a, err)
	}
	return err
}
