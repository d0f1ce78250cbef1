package form

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// Limits of the choices of a form.
const (
	typeaheadChoices = 12
	datalistChoices  = 50 // without JavaScript the browser filters
)

// typeahead completes a reference: the options of a listbox for ?type=&q=.
func (h *Forms) typeahead(w http.ResponseWriter, r *http.Request) error {
	t, err := h.typeOf(r)
	if err != nil {
		return err
	}
	query := strings.TrimSpace(r.URL.Query().Get("q"))
	choices, err := h.choices(r.Context(), h.Page.Clock(r), t, query, typeaheadChoices)
	if err != nil {
		return err
	}
	return web.Render(w, r, http.StatusOK, forms.ChoiceList(choices, query))
}

// typeaheadPreview shows the target of a reference, for ?type=&ref=.
func (h *Forms) typeaheadPreview(w http.ResponseWriter, r *http.Request) error {
	t, err := h.typeOf(r)
	if err != nil {
		return err
	}
	query := r.URL.Query()
	ref := strings.TrimSpace(query.Get("ref"))
	var preview forms.Preview
	if ref != "" {
		if preview, err = h.preview(r.Context(), t, ref); err != nil {
			return err
		}
	}
	if t.Kind == typeregistry.KindFeatureSet {
		return web.Render(w, r, http.StatusOK, forms.FeaturePicker(forms.Detached(t, query.Get("name"), ref, preview)))
	}
	if ref == "" {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	return web.Render(w, r, http.StatusOK, forms.PreviewBox(preview))
}

// typeOf reads the type expression of the request.
func (h *Forms) typeOf(r *http.Request) (*typeregistry.Type, error) {
	registry, err := h.Catalogue.Types(r.Context())
	if err != nil {
		return nil, err
	}
	t, err := registry.Parse(r.URL.Query().Get("type"))
	if err != nil {
		return nil, apperr.Wrap(apperr.Invalid, err, "The parameter type is not a type expression.")
	}
	return t, nil
}

// Offers fetches the choices for the widgets of a form, once per type, and a preview of each
// reference in the form.
func (h *Forms) Offers(ctx context.Context, clock ui.Clock, references []forms.Reference) (forms.Offers, error) {
	out := forms.Offers{Choices: map[string][]forms.Choice{}, Previews: map[string]forms.Preview{}}
	for _, ref := range references {
		expression := ref.Type.String()
		if _, done := out.Choices[expression]; !done {
			choices, err := h.choices(ctx, clock, ref.Type, "", datalistChoices)
			if err != nil {
				return out, err
			}
			out.Choices[expression] = choices
		}
		key := forms.PreviewKey(ref.Type, ref.Ref)
		if _, done := out.Previews[key]; done || ref.Ref == "" {
			continue
		}
		preview, err := h.preview(ctx, ref.Type, ref.Ref)
		if err != nil {
			return out, err
		}
		out.Previews[key] = preview
	}
	return out, nil
}

// Today is the current day in the reader's time zone.
func (h *Forms) Today(r *http.Request) time.Time {
	zone := h.Page.Clock(r).Zone
	if zone == nil {
		zone = time.UTC
	}
	return h.Now().In(zone)
}
