package schedule

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/schedule/cron"
	"github.com/flowforge/flowforge/typeregistry"
)

// document is a schedule in the definition of a workflow: the fields of the API without workflow and
// version.
type document struct {
	Name       string          `json:"name"`
	Cron       string          `json:"cron"`
	Crons      []string        `json:"crons"`
	Every      string          `json:"every"`
	At         *time.Time      `json:"at"`
	Timezone   string          `json:"timezone"`
	Gap        string          `json:"gap"`
	Fold       string          `json:"fold"`
	Anchor     *time.Time      `json:"anchor"`
	Starts     *time.Time      `json:"starts_at"`
	Ends       *time.Time      `json:"ends_at"`
	Calendar   string          `json:"calendar"`
	Business   bool            `json:"business_days"`
	Exclude    []Window        `json:"exclude"`
	Inputs     json.RawMessage `json:"inputs"`
	Priority   *int            `json:"priority"`
	Misfire    string          `json:"misfire"`
	CatchUp    int             `json:"catch_up_seconds"`
	CatchUpMax int             `json:"catch_up_max"`
	Overlap    string          `json:"overlap"`
	MaxRunning int             `json:"max_running"`
	Jitter     int             `json:"jitter_seconds"`
	PauseAfter int             `json:"pause_after_failures"`
	Paused     bool            `json:"paused"`
	When       string          `json:"when"`
	StopWhen   string          `json:"stop_when"`
	KeepOK     *int            `json:"keep_succeeded"`
	KeepFailed *int            `json:"keep_failed"`
}

// documentFields are the names of the fields of a document.
func documentFields() []string {
	t := reflect.TypeFor[document]()
	names := make([]string, t.NumField())
	for i := range names {
		names[i] = t.Field(i).Tag.Get("json")
	}
	return names
}

// decode reads a schedule of a definition, as decoded JSON.
func decode(fields map[string]any) (document, []apperr.Field) {
	var d document
	var problems []apperr.Field
	known := documentFields()
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if slices.Contains(known, key) {
			continue
		}
		message := fmt.Sprintf("There is no field called %q in a schedule.", key)
		if near := apperr.Nearest(key, known); near != "" {
			message += fmt.Sprintf(" Did you mean %q?", near)
		}
		problems = append(problems, apperr.Field{Path: key, Message: message})
	}
	raw, err := encode(fields)
	if err == nil {
		err = json.Unmarshal(raw, &d)
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field, _, _ := strings.Cut(wrong.Field, ".")
		problems = append(problems, apperr.Field{Path: field, Message: fmt.Sprintf("The value is %s, which is not valid here.", article(wrong.Value))})
	} else if err != nil {
		problems = append(problems, apperr.Field{Message: fmt.Sprintf("The schedule cannot be read: %v.", err)})
	}
	return d, problems
}

// article names a kind of JSON value.
func article(kind string) string {
	if kind == "array" || kind == "object" {
		return "an " + kind
	}
	return "a " + kind
}

// spec returns the spec of a document.
func (d document) spec(workflow string) (Spec, []apperr.Field) {
	sp := Spec{
		Workflow: workflow, Name: d.Name, Priority: query.Declared, Misfire: Misfire(d.Misfire), CatchUp: time.Duration(d.CatchUp) * time.Second, CatchUpMax: d.CatchUpMax,
		Overlap: Overlap(d.Overlap), MaxRunning: d.MaxRunning, Jitter: time.Duration(d.Jitter) * time.Second, PauseAfter: d.PauseAfter, Paused: d.Paused,
		Condition: d.When, StopWhen: d.StopWhen, KeepSucceeded: d.KeepOK, KeepFailed: d.KeepFailed,
		When: When{
			At: d.At, Timezone: d.Timezone, Gap: cron.Gap(d.Gap), Fold: cron.Fold(d.Fold), Starts: d.Starts, Ends: d.Ends,
			Calendar: d.Calendar, BusinessDays: d.Business, Exclude: d.Exclude,
		},
	}
	var wrong []apperr.Field
	if sp.Expressions, wrong = Expressions(d.Cron, d.Crons, d.Every, d.At); len(wrong) > 0 {
		return sp, wrong
	}
	if d.Anchor != nil {
		sp.Anchor = *d.Anchor
	}
	if d.Priority != nil {
		sp.Priority = query.Priority(*d.Priority)
		if sp.Priority < 0 {
			return sp, []apperr.Field{{Path: "priority", Message: "Enter a priority from 0 to 100."}}
		}
	}
	if len(d.Inputs) > 0 && string(d.Inputs) != "null" {
		v, err := typeregistry.DecodeJSON(d.Inputs)
		inputs, ok := v.(map[string]any)
		if err != nil || !ok {
			return sp, []apperr.Field{{Path: "inputs", Message: "Inputs must be a mapping of names to values."}}
		}
		sp.Inputs = inputs
	}
	return sp, nil
}
