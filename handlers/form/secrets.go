package form

import (
	"net/http"
	"slices"

	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
)

// offerConnections adds the connections of the project to the choices of a form whose schema has
// connections.
func (h *Forms) offerConnections(r *http.Request, schema typeregistry.Schema, offers *forms.Offers) error {
	requested := slices.ContainsFunc(schema.Fields, func(f typeregistry.Field) bool { return f.Type.Holds(typeregistry.KindConnection) })
	if !requested || h.Connections == nil {
		return nil
	}
	list, err := h.Connections.List(r.Context(), "")
	if err != nil {
		return err
	}
	if page.MayWriteSecrets(r) {
		offers.NewConnection = views.NewConnectionURL("")
	}
	offers.Connections = make([]forms.Connection, 0, len(list))
	for _, c := range list {
		offers.Connections = append(offers.Connections, forms.Connection{Name: c.Name, Kind: c.Kind, Note: label.Connection(c)})
	}
	return nil
}

// offerSecrets adds the secrets of the project to the choices of a form whose schema has
// secrets.
func (h *Forms) offerSecrets(r *http.Request, schema typeregistry.Schema, offers *forms.Offers) error {
	requested := slices.ContainsFunc(schema.Fields, func(f typeregistry.Field) bool { return f.Type.Holds(typeregistry.KindSecret) })
	if !requested || h.Secrets == nil {
		return nil
	}
	list, err := h.Secrets.List(r.Context())
	if err != nil {
		return err
	}
	offers.Keeping = page.MayWriteSecrets(r)
	offers.Secrets = make([]ui.Option, 0, len(list))
	for _, s := range list {
		note := "from " + s.Source
		if s.Editable() {
			note = "added by " + s.CreatedBy + ", " + h.Page.Clock(r).Moment(s.CreatedAt).Text
		}
		offers.Secrets = append(offers.Secrets, ui.Option{Value: s.Name, Name: s.Name + " (" + note + ")"})
	}
	return nil
}
