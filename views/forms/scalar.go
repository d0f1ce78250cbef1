package forms

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
)

// Limits for radio buttons and selects; more options need a search.
const (
	segmentedOptions = 4
	selectOptions    = 11
	segmentedLetters = 48 // together: longer labels do not fit in one row
	compactLetters   = 18 // in a member of a struct
)

// grouped reports whether the value has several HTML controls.
func (c Control) grouped() bool {
	switch c.Type.Kind {
	case typeregistry.KindList, typeregistry.KindMap, typeregistry.KindMetrics, typeregistry.KindUnion, typeregistry.KindStruct,
		typeregistry.KindHyperparam, typeregistry.KindDateRange, typeregistry.KindFeatureSet:
		return true
	case typeregistry.KindEnum:
		return c.Segmented()
	}
	return false
}

// wide reports whether the control needs the full width of a card.
func (c Control) wide() bool {
	switch c.Type.Kind {
	case typeregistry.KindUnion, typeregistry.KindStruct, typeregistry.KindHyperparam, typeregistry.KindFeatureSet, typeregistry.KindDataset:
		return true
	case typeregistry.KindList, typeregistry.KindMap:
		return c.Compact || c.Type.Elem.IsComposite()
	case typeregistry.KindString, typeregistry.KindText, typeregistry.KindJSON:
		return c.LongText()
	}
	return false
}

// group links a fieldset to its help and messages.
func (c Control) group() templ.Attributes {
	a := templ.Attributes{}
	if d := c.describedby(); d != "" {
		a["aria-describedby"] = d
	}
	return a
}

// LongText reports whether a text may have several lines.
func (c Control) LongText() bool {
	return c.Type.Params.Multiline || c.Type.Kind == typeregistry.KindText || c.Type.Kind == typeregistry.KindJSON ||
		c.Widget == "textarea" || strings.Contains(c.Value(), "\n")
}

// TextType is the input type that selects the right keyboard on phones. The server checks
// the format, so only input types that keep every entered value are used.
func (c Control) TextType() string {
	switch c.Type.Params.Format {
	case "uri", "url":
		return "url"
	case "email":
		return "email"
	}
	return "text"
}

// Option is one entry of a choice.
type Option struct {
	Value    string
	Label    string
	ID       string
	Selected bool
}

// Options are the options of an Enum. A value that is not among them (a typing error in a
// link, an option of an older version) is listed too, so that it is not lost.
func (c Control) Options() []Option {
	value, known := c.Value(), c.Value() == ""
	out := make([]Option, 0, len(c.Type.Params.Options)+1)
	for i, o := range c.Type.Params.Options {
		text := optionText(o.Value)
		label := o.Label
		if label == "" {
			label = text
		}
		known = known || text == value
		out = append(out, Option{Value: text, Label: label, ID: fmt.Sprintf("%s-%d", c.ID(), i+1), Selected: text == value})
	}
	if !known {
		out = append(out, Option{Value: value, Label: value + " (not an option)", ID: c.ID() + "-other", Selected: true})
	}
	return out
}

// optionText is how a form submits the value of an option.
func optionText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// Segmented reports whether the options are a row of radio buttons.
func (c Control) Segmented() bool {
	letters := 0
	options := c.Options()
	for _, o := range options {
		letters += len([]rune(o.Label)) + 3
	}
	if c.Widget == "select" || c.Bare {
		return false
	}
	if c.Compact && letters > compactLetters {
		return c.Widget == "radio"
	}
	return c.Widget == "radio" || len(options) <= segmentedOptions && letters <= segmentedLetters
}

// Searched reports whether there are so many options that the select needs a search.
func (c Control) Searched() bool { return len(c.Type.Params.Options) > selectOptions }

// radio returns the attributes of the radio button of o.
func (c Control) radio(o Option) templ.Attributes {
	a := templ.Attributes{"id": o.ID, "name": c.Name, "value": o.Value}
	if c.focused() && (o.Selected || c.Value() == "" && strings.HasSuffix(o.ID, "-1")) {
		a["autofocus"] = true
	}
	return a
}

// Checked reports whether a Boolean is checked.
func (c Control) Checked() bool {
	switch strings.ToLower(c.Value()) {
	case "true", "on", "1", "yes":
		return true
	}
	return false
}

// ThreeWay reports whether a Boolean is optional, which a checkbox cannot express.
func (c Control) ThreeWay() bool { return c.Optional && c.initial == nil }

// Typed reports whether the browser's native control can show the value. Otherwise the
// control is a text input, because a native control would drop the value.
func typed(value string, layouts ...string) bool {
	if value == "" {
		return true
	}
	for _, layout := range layouts {
		if _, err := time.Parse(layout, value); err == nil {
			return true
		}
	}
	return false
}

func dateType(value string) string {
	if typed(value, time.DateOnly) {
		return "date"
	}
	return "text"
}

func momentType(value string) string {
	if typed(value, "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02T15:04:05.999") {
		return "datetime-local"
	}
	return "text"
}

// momentStep lets the browser show seconds.
func momentStep(value string) string {
	if typed(value, "2006-01-02T15:04") {
		return "60"
	}
	return "any"
}

// day is a date some days from today, for the quick buttons.
func (c Control) day(offset int) string {
	if c.form.cfg.Today.IsZero() {
		return ""
	}
	return c.form.cfg.Today.AddDate(0, 0, offset).Format(time.DateOnly)
}

// dates is input for a date control: its bounds help the browser's calendar.
func (c Control) dates() templ.Attributes {
	a := c.input()
	if c.Type.Params.Earliest != "" {
		a["min"] = c.bound(c.Type.Params.Earliest)
	}
	if c.Type.Params.Latest != "" {
		a["max"] = c.bound(c.Type.Params.Latest)
	}
	return a
}

func (c Control) bound(s string) string {
	if s == "today" {
		return c.day(0)
	}
	return s
}

// Zone is the zone of a date with time.
func (c Control) Zone() string {
	if z := c.sub("$zone"); z != "" {
		return z
	}
	return "UTC"
}

// zones are the suggestions without JavaScript, which adds all zones of the browser.
func zones() []string { return Zones() }

// Zones are the time zones that forms offer without a script.
func Zones() []string {
	return []string{
		"UTC", "America/Los_Angeles", "America/Denver", "America/Chicago", "America/New_York", "America/Sao_Paulo", "Europe/London",
		"Europe/Berlin", "Europe/Helsinki", "Africa/Lagos", "Africa/Johannesburg", "Asia/Dubai", "Asia/Kolkata", "Asia/Singapore",
		"Asia/Shanghai", "Asia/Tokyo", "Australia/Sydney", "Pacific/Auckland",
	}
}

// Echo is a duration in seconds, or "" if it is invalid.
func (c Control) Echo() string {
	d, err := units.ParseDuration(c.Value())
	if c.Value() == "" || err != nil {
		return ""
	}
	seconds := strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
	whole, fraction, _ := strings.Cut(seconds, ".")
	if n, err := strconv.ParseInt(whole, 10, 64); err == nil {
		whole = units.Number(n)
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return "= " + whole + " s"
}

// Clock is a date with time, without zero seconds, as the browser shows it.
func (c Control) Clock() string {
	if at, err := time.Parse("2006-01-02T15:04:05", c.Value()); err == nil && at.Second() == 0 {
		return at.Format("2006-01-02T15:04")
	}
	return c.Value()
}
