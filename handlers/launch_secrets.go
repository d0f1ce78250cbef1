package handlers

import (
	"net/http"
	"slices"

	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
)

// offerSecrets adds the secrets of the project to what a form offers, when its
// schema asks for any.
func (h *Handlers) offerSecrets(r *http.Request, schema typeregistry.Schema, offers *forms.Offers) error {
	asked := slices.ContainsFunc(schema.Fields, func(f typeregistry.Field) bool { return f.Type.HoldsSecret() })
	if !asked || h.Secrets == nil {
		return nil
	}
	list, err := h.Secrets.List(r.Context())
	if err != nil {
		return err
	}
	offers.Keeping = h.mayWriteSecrets(r)
	offers.Secrets = make([]ui.Option, 0, len(list))
	for _, s := range list {
		note := "from " + s.Source
		if s.Editable() {
			note = "added by " + s.CreatedBy + ", " + h.clock(r).Moment(s.CreatedAt).Text
		}
		offers.Secrets = append(offers.Secrets, ui.Option{Value: s.Name, Name: s.Name + " (" + note + ")"})
	}
	return nil
}

// keepSecrets keeps the secrets that were typed into the form of d and makes its
// controls name them; the problems of those that cannot be kept go to d.
func (h *Handlers) keepSecrets(r *http.Request, d *draft) error {
	for _, typed := range d.secrets {
		_, err := h.Secrets.Put(r.Context(), secret.Edit{Name: typed.Name, Value: typed.Value, Create: true})
		switch apperr.CodeOf(err) {
		case "":
			typed.Kept(d.values)
		case apperr.Invalid, apperr.Conflict, apperr.Forbidden:
			message := apperr.MessageOf(err)
			if fields := apperr.FieldsOf(err); len(fields) > 0 {
				message = "The new secret cannot be kept: " + lowerFirst(fields[0].Message)
			}
			d.spoolFull = append(d.spoolFull, forms.Problem{Path: typed.Path(), Message: message})
		default:
			return err
		}
	}
	return nil
}
