package forms

import (
	"net/url"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/views/ui"
)

// Names of the controls of a secret that is typed into a form, below that of the
// control that names secrets.
const (
	SecretName  = "$secret_name"
	SecretValue = "$secret_value"
)

// NewSecret is a secret that was typed into a form.
type NewSecret struct {
	Control string // the name of the control that is to name it
	Name    string
	Value   string
}

// Path is the path of the value that the control stands for.
func (n NewSecret) Path() string { return strings.TrimPrefix(n.Control, Prefix+".") }

// TakeSecrets returns what was typed as new secrets, and takes the values out of
// the form, so that none comes back with it.
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

// Kept makes the control name the secret, which is kept now.
func (n NewSecret) Kept(values url.Values) {
	values.Set(n.Control, n.Name)
	values.Del(n.Control + "." + SecretName)
}

// secrets are the choices of the control: those on offer, and what it names now.
func (c Control) secrets() []ui.Option {
	options := slices.Clone(c.form.cfg.Offers.Secrets)
	known := false
	for i := range options {
		options[i].Selected = options[i].Value == c.Value()
		known = known || options[i].Selected
	}
	if !known && c.Value() != "" {
		options = append(options, ui.Option{Value: c.Value(), Name: c.Value() + " (not in this project)", Selected: true})
	}
	return options
}

// noSecret is the choice of none.
func (c Control) noSecret() string {
	switch {
	case c.Optional:
		return "None"
	case len(c.form.cfg.Offers.Secrets) == 0:
		return "There is no secret in this project yet"
	}
	return "Choose…"
}
