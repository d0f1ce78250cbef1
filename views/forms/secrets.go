package forms

import (
	"net/url"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/views/ui"
)

// Names of the controls of a new secret, below the name of the Secret control.
const (
	SecretName  = "$secret_name"
	SecretValue = "$secret_value"
)

// NewSecret is a secret entered in a form.
type NewSecret struct {
	Control string // the Secret control that will refer to it
	Name    string
	Value   string
}

// Path is the path of the value of the control.
func (n NewSecret) Path() string { return strings.TrimPrefix(n.Control, Prefix+".") }

// TakeSecrets returns the new secrets and removes their values from the form, so that the
// server never sends them back.
func TakeSecrets(values url.Values) []NewSecret {
	var found []NewSecret
	for name := range values {
		control, isValue := strings.CutSuffix(name, "."+SecretValue)
		if !isValue {
			continue
		}
		secret := NewSecret{Control: control, Name: strings.TrimSpace(values.Get(control + "." + SecretName)), Value: values.Get(name)}
		if secret.Value != "" || secret.Name != "" {
			found = append(found, secret)
		}
		values.Del(name)
	}
	slices.SortFunc(found, func(a, b NewSecret) int { return strings.Compare(a.Control, b.Control) })
	return found
}

// Kept sets the control to the secret after it was stored.
func (n NewSecret) Kept(values url.Values) {
	values.Set(n.Control, n.Name)
	values.Del(n.Control + "." + SecretName)
}

// secretControl is the control of a Secret.
type secretControl struct{ c Control }

// options are the options of the control: the available secrets and the current value.
func (s secretControl) options() []ui.Option {
	options := slices.Clone(s.c.form.cfg.Offers.Secrets)
	known := false
	for i := range options {
		options[i].Selected = options[i].Value == s.c.Value()
		known = known || options[i].Selected
	}
	if !known && s.c.Value() != "" {
		options = append(options, ui.Option{Value: s.c.Value(), Name: s.c.Value() + " (not in this project)", Selected: true})
	}
	return options
}

// none is the label of the empty option.
func (s secretControl) none() string {
	switch {
	case s.c.Optional:
		return "None"
	case len(s.c.form.cfg.Offers.Secrets) == 0:
		return "No secrets in this project yet"
	}
	return "Choose…"
}
