package form

import (
	"net/http"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/forms"
)

// Draw draws the form with the choices of the catalogue.
func (h *Forms) Draw(r *http.Request, config forms.Config) (*forms.Form, error) {
	config.Now, config.Today, config.Typeahead, config.Upload = h.Now(), h.Today(r), views.TypeaheadURL(), views.UploadsURL()
	offers, err := h.Offers(r.Context(), h.Page.Clock(r), forms.New(config).References())
	if err != nil {
		return nil, err
	}
	config.Offers = offers
	if err := h.offerConnections(r, config.Schema, &config.Offers); err != nil {
		return nil, err
	}
	if err := h.offerSecrets(r, config.Schema, &config.Offers); err != nil {
		return nil, err
	}
	return forms.New(config), nil
}
