package launch

import (
	"net/http"

	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/views/forms"
)

// keepSecrets saves the new secrets in the form of d and selects them in its controls. It adds
// the errors of secrets that cannot be saved to d.
func (h *Pages) keepSecrets(r *http.Request, d *draft) error {
	for _, typed := range d.secrets {
		_, err := h.Secrets.Put(r.Context(), secret.Edit{Name: typed.Name, Value: typed.Value, Create: true})
		switch apperr.CodeOf(err) {
		case "":
			typed.Kept(d.values)
		case apperr.Invalid, apperr.Conflict, apperr.Forbidden:
			message := apperr.MessageOf(err)
			if fields := apperr.FieldsOf(err); len(fields) > 0 {
				message = "The new secret cannot be saved: " + label.LowerFirst(fields[0].Message)
			}
			d.spoolFull = append(d.spoolFull, forms.Problem{Path: typed.Path(), Message: message})
		default:
			return err
		}
	}
	return nil
}
