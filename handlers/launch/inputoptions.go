package launch

import (
	"errors"
	"net/http"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/options"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// inputOptions lists options of the input $input, for the values of the form. A source that cannot
// answer is part of the list, so that the user can try again.
func (h *Pages) inputOptions(w http.ResponseWriter, r *http.Request) error {
	sent, err := h.Forms.Read(w, r, nil)
	if err != nil {
		return err
	}
	d, err := h.newDraft(r, r.URL.Query().Get("version"))
	if err != nil {
		return err
	}
	d.take(sent)
	inputs, _ := d.schema.DecodeForm(typeregistry.Form{Values: d.values}, forms.Prefix)
	query, after := sent.Get("$q"), sent.Get("$after")
	page, err := h.Options.List(r.Context(), d.version, options.Request{
		Input: sent.Get("$input"), Inputs: inputs, Query: query, After: after, Refresh: sent.Get("$refresh") != "",
	})
	if run, failed := errors.AsType[*options.RunError](err); failed {
		m := forms.OptionPage{Failure: run.Text, Run: &forms.OptionRun{Name: "Open the execution", URL: views.ExecutionURL(run.Execution.String())}}
		return web.Render(w, r, http.StatusOK, forms.OptionList(m))
	}
	switch apperr.CodeOf(err) {
	case apperr.Invalid, apperr.Unavailable:
		return web.Render(w, r, http.StatusOK, forms.OptionList(forms.OptionPage{Failure: apperr.MessageOf(err)}))
	}
	if err != nil {
		return err
	}
	return web.Render(w, r, http.StatusOK, forms.OptionList(optionPage(h.Page.Clock(r), page, query, after)))
}

// optionPage is a page of options as users read it.
func optionPage(clock ui.Clock, page options.Page, query, after string) forms.OptionPage {
	out := forms.OptionPage{Query: query, After: after, Next: page.Next, Waits: page.Stale && !page.Unrefreshed, Note: page.Note, Free: page.Free}
	out.Kept = !page.At.IsZero()
	age := units.Duration(max(0, clock.Now.Sub(page.At)))
	switch {
	case !out.Kept:
	case page.Unrefreshed:
		out.Age = "These options are " + age + " old."
	case page.Stale:
		out.Age = "These options are " + age + " old and are being refreshed."
	default:
		out.Age = "Options from " + age + " ago."
	}
	if page.FailedRun != uuid.Nil {
		out.Run = &forms.OptionRun{Name: "Open the failed execution", URL: views.ExecutionURL(page.FailedRun.String())}
	}
	for _, o := range page.Options {
		item := forms.OptionItem{Value: forms.OptionValue(o.Value), Label: o.Label, Description: o.Description}
		for _, f := range o.Preview {
			item.Preview = append(item.Preview, forms.OptionFact(f))
		}
		out.Items = append(out.Items, item)
	}
	return out
}
