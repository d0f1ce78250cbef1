package forms

import (
	"net/url"

	"github.com/flowforge/flowforge/views/ui"
)

// Connection is a connection that the user may use.
type Connection struct{ Name, Kind, Note string }

// connectionControl is the control of a Connection.
type connectionControl struct{ c Control }

// options are the options of the control: the connections of its kind and the current value.
func (k connectionControl) options() []ui.Option {
	options := []ui.Option{}
	known := false
	for _, offer := range k.c.form.cfg.Offers.Connections {
		if of := k.c.Type.Params.Connection; of != "" && of != offer.Kind {
			continue
		}
		o := ui.Option{Value: offer.Name, Name: offer.Name + " (" + offer.Note + ")", Selected: offer.Name == k.c.Value()}
		known = known || o.Selected
		options = append(options, o)
	}
	if !known && k.c.Value() != "" {
		options = append(options, ui.Option{Value: k.c.Value(), Name: k.c.Value() + " (no such connection here)", Selected: true})
	}
	return options
}

// none is the label of the empty option.
func (k connectionControl) none() string {
	switch {
	case k.c.Optional:
		return "None"
	case len(k.options()) == 0 && k.c.Type.Params.Connection != "":
		return "No " + k.c.Type.Params.Connection + " connections in this project yet"
	case len(k.options()) == 0:
		return "No connections in this project yet"
	}
	return "Choose…"
}

// newURL is the form for a new connection of the kind; "" for a user who may not add one.
func (k connectionControl) newURL() string {
	base := k.c.form.cfg.Offers.NewConnection
	if base == "" || k.c.Type.Params.Connection == "" {
		return base
	}
	return base + "?" + url.Values{"kind": {k.c.Type.Params.Connection}}.Encode()
}
