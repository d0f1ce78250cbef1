package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/web/contract"
)

// The kinds of documents about times.
const (
	kindCalendar = "Calendar"
	kindSchedule = "Schedule"
	kindTrigger  = "Trigger"
)

// timed is a document of a schedule, a calendar or a trigger: its fields are those of the API.
type timed struct {
	kind     string
	schedule contract.ScheduleInput
	name     string // of the calendar or the trigger
	calendar contract.Calendar
	trigger  contract.TriggerInput
	switched bool // the document says whether the schedule is paused, or the trigger is off
}

type timedDocument struct {
	*timed

	file string
}

// readTimed reads a document of kind Schedule, Calendar or Trigger. It returns nil for other documents.
func readTimed(doc []byte) (*timed, error) {
	var head struct {
		Kind       string `json:"kind"`
		APIVersion string `json:"apiVersion"`
		Name       string `json:"name"`
	}
	raw, err := yaml.YAMLToJSON(doc)
	if err != nil || json.Unmarshal(raw, &head) != nil || !slices.Contains([]string{kindSchedule, kindCalendar, kindTrigger}, head.Kind) {
		return nil, nil //nolint:nilerr,nilnil // the server says what is wrong with other documents
	}
	if head.APIVersion != "" && head.APIVersion != "flowforge.io/v1" {
		return nil, fmt.Errorf("apiVersion: use flowforge.io/v1 for a %s, not %q", head.Kind, head.APIVersion)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, fmt.Errorf("read %s: %w", head.Kind, err)
	}
	delete(fields, "kind")
	delete(fields, "apiVersion")
	out := &timed{kind: head.Kind, name: head.Name}
	if head.Name == "" {
		return nil, fmt.Errorf("name: a %s needs a name", head.Kind)
	}
	if head.Kind == kindSchedule {
		_, out.switched = fields["paused"]
		return out, readFields(fields, &out.schedule)
	}
	delete(fields, "name")
	if head.Kind == kindTrigger {
		_, out.switched = fields["disabled"]
		return out, readTrigger(fields, &out.trigger)
	}
	return out, readFields(fields, &out.calendar)
}

// readTrigger decodes the fields of a trigger. In a document, kind is that of the document, so waits_for is
// what the trigger waits for: by default what on or the signature say, and else an execution.
func readTrigger(fields map[string]json.RawMessage, in *contract.TriggerInput) error {
	if err := readOn(fields); err != nil {
		return err
	}
	waits, named := fields["waits_for"]
	delete(fields, "waits_for")
	if named {
		fields["kind"] = waits
	}
	if err := readFields(fields, in); err != nil {
		return errors.New(strings.Replace(err.Error(), "kind: ", "waits_for: ", 1))
	}
	switch {
	case named:
	case in.Signature != "":
		in.Kind = "webhook"
	case in.HTTP != nil:
		in.Kind = "http"
	case in.S3 != nil:
		in.Kind = "s3"
	case in.All != nil:
		in.Kind = "all"
	default:
		in.Kind = "execution"
	}
	return nil
}

// readOn moves the fields of on, such as http or all with within and by, to those of the trigger.
func readOn(fields map[string]json.RawMessage) error {
	raw, ok := fields["on"]
	if !ok {
		return nil
	}
	delete(fields, "on")
	var on map[string]json.RawMessage
	if err := json.Unmarshal(raw, &on); err != nil {
		return errors.New("on: enter http, s3 or all, such as on: {http: {url: https://example.com/data.csv, every: 5m}}")
	}
	for name, value := range on {
		if !slices.Contains([]string{"http", "s3", "all", "within", "by"}, name) {
			return fmt.Errorf("on: unknown field %q. Enter http, s3, or all with within and by", name)
		}
		fields[name] = value
	}
	return nil
}

// readFields decodes fields, and rejects those that v does not have.
func readFields(fields map[string]json.RawMessage, v any) error {
	raw, err := json.Marshal(fields)
	if err != nil {
		return fmt.Errorf("read fields: %w", err)
	}
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.DisallowUnknownFields()
	err = dec.Decode(v)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s: a %s is not valid here", wrong.Field, wrong.Value)
	}
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// applyTimed saves calendars, then the schedules that name them, and triggers.
func (c *client) applyTimed(cmd *cobra.Command, documents []timedDocument) error {
	slices.SortStableFunc(documents, func(a, b timedDocument) int { return strings.Compare(a.kind, b.kind) })
	for _, d := range documents {
		var err error
		switch d.kind {
		case kindCalendar:
			err = c.call(cmd.Context(), http.MethodPut, "/api/v1/calendars/"+url.PathEscape(d.name), d.calendar, nil)
		case kindTrigger:
			err = c.applyTrigger(cmd, d)
		default:
			_, err = c.saveSchedule(cmd, d.schedule, true, !d.switched)
		}
		if err != nil {
			return fmt.Errorf("%s: %s %s: %w", d.file, strings.ToLower(d.kind), d.name, err)
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s %s: saved\n", strings.ToLower(d.kind), d.name)
	}
	return nil
}

// applyTrigger saves a trigger. One that is off stays off unless the document says otherwise.
func (c *client) applyTrigger(cmd *cobra.Command, d timedDocument) error {
	if !d.switched {
		var stored contract.TriggerBody
		if err := c.call(cmd.Context(), http.MethodGet, triggerPath(d.name), nil, &stored); err != nil && !refusedWith(err, http.StatusNotFound) {
			return err
		}
		d.trigger.Disabled = stored.Disabled
	}
	return c.call(cmd.Context(), http.MethodPut, triggerPath(d.name), d.trigger, nil)
}
