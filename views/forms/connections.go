package forms

import (
	"net/url"

	"github.com/flowforge/flowforge/views/ui"
)

// Connection is a connection that the user may use.
type Connection struct{ Name, Kind, Note string }

// connections are the options of the control: the connections of its kind and the current value.
func (c Control) connections() []ui.Option {
	options := []ui.Option{}
	known := false
	for _, offer := range c.form.cfg.Offers.Connections {
		if of := c.Type.Params.Connection; of != "" && of != offer.Kind {
			continue
		}
		o := ui.Option{Value: offer.Name, Name: offer.Name + " (" + offer.Note + ")", Selected: offer.Name == c.Value()}
		known = known || o.Selected
		options = append(options, o)
	}
	if !known && c.Value() != "" {
		options = append(options, ui.Option{Value: c.Value(), Name: c.Value() + " (no such connection here)", Selected: true})
	}
	return options
}

// noConnection is the label of the empty option.
func (c Control) noConnection() string {
	switch {
	case c.Optional:
		return "None"
	case len(c.connections()) == 0 && c.Type.Params.Connection != "":
		return "No " + c.Type.Params.Connection + " connections in this project yet"
	case len(c.connections()) == 0:
		return "No connections in this project yet"
	}
	return "Choose…"
}

// newConnection is the form for a new connection of the kind; "" for a user who may not add one.
func (c Control) newConnection() string {
	base := c.form.cfg.Offers.NewConnection
	if base == "" || c.Type.Params.Connection == "" {
		return base
	}
	return base + "?" + url.Values{"kind": {c.Type.Params.Connection}}.Encode()
}
