package admin

import (
	"context"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/tenancy"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/views"
)

// create creates a node.
func (h *Pages) create(w http.ResponseWriter, r *http.Request) error {
	form, err := sent(r, "new", r.PostFormValue("parent"))
	if err != nil {
		return err
	}
	parent, err := uuid.Parse(form.id)
	if err != nil {
		return apperr.New(apperr.NotFound, "The parent of the new entry does not exist.")
	}
	n, err := h.Tenancy.Create(r.Context(), tenancy.NewNode{
		ParentID: parent, Kind: tenancy.Kind(form.values.Get("kind")), Name: form.values.Get("name"),
		Description: strings.TrimSpace(form.values.Get("description")), Key: form.values.Get("key"),
	})
	if err != nil {
		return h.redrawTree(w, r, form, err)
	}
	return seeOther(w, r, views.AdminURL()+"?did=created#node-"+n.ID.String())
}

func (h *Pages) redrawTree(w http.ResponseWriter, r *http.Request, form openForm, err error) error {
	if !shownInForm(err) {
		return err
	}
	form.err = err
	return h.showTree(w, r, form)
}

func seeOther(w http.ResponseWriter, r *http.Request, to string) error {
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}

// update renames or describes a node.
func (h *Pages) update(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	form, err := sent(r, "edit", id.String())
	if err != nil {
		return err
	}
	edit := tenancy.Edit{Name: new(form.values.Get("name")), Description: new(form.values.Get("description")), Revision: form.values.Get("revision")}
	if _, err := h.Tenancy.Update(r.Context(), id, edit); err != nil {
		return h.redrawTree(w, r, form, err)
	}
	return seeOther(w, r, views.AdminURL()+"?did=saved#node-"+id.String())
}

// archive requests confirmation, then archives a node.
func (h *Pages) archive(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	form, err := sent(r, "archive", id.String())
	if err != nil {
		return err
	}
	if form.values.Get("confirm") == "" {
		return seeOther(w, r, views.AdminURL()+"?archive="+id.String()+"#edit")
	}
	if _, err := h.Tenancy.Archive(r.Context(), id, strings.TrimSpace(form.values.Get("reason"))); err != nil {
		return h.redrawTree(w, r, form, err)
	}
	return seeOther(w, r, views.AdminURL()+"?did=archived&archived=1#node-"+id.String())
}

// restore restores a node from the archive.
func (h *Pages) restore(w http.ResponseWriter, r *http.Request) error {
	return h.nodeDo(w, r, "edit", "restored", views.AdminURL()+"?did=restored", func(ctx context.Context, id uuid.UUID) error {
		_, err := h.Tenancy.Restore(ctx, id, "")
		return err
	})
}

// nodeDo runs a change without values of the node in the path.
func (h *Pages) nodeDo(w http.ResponseWriter, r *http.Request, form, did, to string, do func(ctx context.Context, id uuid.UUID) error) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	if err := do(r.Context(), id); err != nil {
		if !shownInForm(err) {
			return err
		}
		if to != "" {
			return h.showTree(w, r, openForm{name: form, id: id.String(), err: err})
		}
		return h.showNode(w, r, id, openForm{name: form, err: err})
	}
	if to == "" {
		to = views.AdminNodeURL(id.String()) + "?did=" + did
	}
	return seeOther(w, r, to)
}
