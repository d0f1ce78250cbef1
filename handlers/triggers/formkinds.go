package triggers

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/trigger"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// polled are the fields of a trigger that polls, as they were typed.
type polled struct {
	connection, address, when, bucket, prefix, pattern, every string
	existing                                                  bool
}

func newPoll() polled { return polled{when: string(trigger.Changes), every: trigger.DefaultEvery} }

func polledOf(f url.Values) polled {
	return polled{
		connection: f.Get("connection"), address: f.Get("address"), when: f.Get("when"), bucket: f.Get("bucket"), prefix: f.Get("prefix"),
		pattern: f.Get("pattern"), every: f.Get("every"), existing: f.Get("existing") == "true",
	}
}

func storedPoll(t trigger.Trigger) polled {
	switch {
	case t.HTTP != nil:
		return polled{connection: t.HTTP.Connection, address: t.HTTP.URL + t.HTTP.Path, when: string(t.HTTP.When), every: t.HTTP.Every, existing: t.HTTP.Existing}
	case t.S3 != nil:
		return polled{connection: t.S3.Connection, bucket: t.S3.Bucket, prefix: t.S3.Prefix, pattern: t.S3.Pattern, every: t.S3.Every, existing: t.S3.Existing}
	}
	return newPoll()
}

// fill sets the source that a trigger polls. An address is a URL, or a path below the selected
// connection.
func (p polled) fill(sp *trigger.Spec) {
	switch sp.Kind { //nolint:exhaustive // the others do not poll
	case trigger.OnHTTP:
		sp.HTTP = &trigger.HTTPPoll{Connection: p.connection, When: trigger.When(p.when), Every: p.every, Existing: p.existing}
		if p.connection == "" {
			sp.HTTP.URL = p.address
		} else {
			sp.HTTP.Path = p.address
		}
	case trigger.OnS3:
		sp.S3 = &trigger.S3Poll{Connection: p.connection, Bucket: p.bucket, Prefix: p.prefix, Pattern: p.pattern, Every: p.every, Existing: p.existing}
	}
}

// pollForm are the fields of a trigger that polls.
func (h *Pages) pollForm(r *http.Request, t typed, former string) (*views.TriggerPollForm, error) {
	p := t.poll
	out := &views.TriggerPollForm{
		Bucket: t.kind == trigger.OnS3, Address: p.address, BucketName: p.bucket, Prefix: p.prefix, Pattern: p.pattern, Every: p.every,
		When:     radios(p.when, string(trigger.Changes), "It changes", string(trigger.Appears), "It appears"),
		Existing: radios(strconv.FormatBool(p.existing), "false", "Ignore", "true", "Launch"),
	}
	if former != "" {
		out.Restarts = "Applies when you change what the trigger polls."
	}
	kind := connection.HTTP
	if out.Bucket {
		kind = connection.S3
	}
	out.NewURL = views.NewConnectionURL(kind)
	list, err := h.Connections.List(r.Context(), kind)
	if err != nil && !apperr.Is(err, apperr.Forbidden) { // without the permission to use connections, there are none to choose
		return nil, err
	}
	if !out.Bucket {
		out.Connections = append(out.Connections, ui.Option{Name: "No connection", Selected: p.connection == ""})
	}
	for _, c := range list {
		out.Connections = append(out.Connections, ui.Option{Value: c.Name, Name: c.Name, Selected: c.Name == p.connection})
	}
	return out, nil
}

// radios are options as pairs of a value and a name.
func radios(chosen string, pairs ...string) (list []ui.Option) {
	for pair := range slices.Chunk(pairs, 2) {
		list = append(list, ui.Option{Value: pair[0], Name: pair[1], Selected: pair[0] == chosen})
	}
	return list
}

// joined are the fields of a trigger on several events, as they were typed.
type joined struct {
	conditions []condition
	within, by string
}

// condition are the fields of a condition. waits is a kind with states or stages, such as model:production.
type condition struct{ name, waits, sources, filter, by string }

func newJoin() joined {
	return joined{within: trigger.DefaultWithin, conditions: []condition{{waits: string(trigger.OnDataset)}, {waits: string(trigger.OnDataset)}}}
}

func joinedOf(f url.Values) joined {
	j := joined{within: f.Get("within"), by: f.Get("by")}
	for i := range trigger.MaxConditions + 1 {
		at := fmt.Sprintf("all.%d.", i)
		if !f.Has(at + "name") {
			break
		}
		j.conditions = append(j.conditions, condition{f.Get(at + "name"), f.Get(at + "waits"), f.Get(at + "sources"), f.Get(at + "filter"), f.Get(at + "by")})
	}
	return j
}

func storedJoin(t trigger.Trigger) joined {
	if t.Join == nil {
		return newJoin()
	}
	j := joined{within: t.Join.Within, by: t.Join.By}
	for _, c := range t.Join.All {
		j.conditions = append(j.conditions, condition{c.Name, waitsOf(c), strings.Join(c.Sources, ", "), c.Filter, c.By})
	}
	return j
}

// change adds or removes a condition if the form requests it.
func (j *joined) change(f url.Values) bool {
	if f.Has("add") {
		j.conditions = append(j.conditions, condition{waits: string(trigger.OnDataset)})
		return true
	}
	i, err := strconv.Atoi(f.Get("remove"))
	if err != nil || i < 0 || i >= len(j.conditions) {
		return false
	}
	j.conditions = slices.Delete(j.conditions, i, i+1)
	return true
}

func (j joined) fill(sp *trigger.Spec) {
	if sp.Kind != trigger.OnAll {
		return
	}
	sp.Join = &trigger.Join{Within: j.within, By: j.by}
	for _, c := range j.conditions {
		kind, which, _ := strings.Cut(c.waits, ":")
		of := trigger.Condition{Name: c.name, Kind: trigger.Kind(kind), Sources: strings.Split(c.sources, ","), Filter: c.filter, By: c.by}
		switch of.Kind { //nolint:exhaustive // the others have neither
		case trigger.OnExecution:
			of.States = strings.Split(which, ",")
		case trigger.OnModel:
			of.Stages = strings.Split(which, ",")
		}
		sp.Join.All = append(sp.Join.All, of)
	}
}

func (j joined) form() *views.TriggerJoinForm {
	out := &views.TriggerJoinForm{Within: j.within, By: j.by, CanAdd: len(j.conditions) < trigger.MaxConditions}
	for i, c := range j.conditions {
		out.Conditions = append(out.Conditions, views.TriggerConditionForm{
			Index: strconv.Itoa(i), Title: fmt.Sprintf("Condition %d", i+1), Name: c.name, Sources: c.sources, Filter: c.filter, By: c.by,
			Waits: waitOptions(c.waits), CanRemove: len(j.conditions) > 2,
		})
	}
	return out
}

// waitsOf describes what a condition waits for, in the format of the form.
func waitsOf(c trigger.Condition) string {
	which := append(slices.Clone(c.States), c.Stages...)
	if len(which) == 0 {
		return string(c.Kind)
	}
	return string(c.Kind) + ":" + strings.Join(which, ",")
}

// waitOptions are the choices of what a condition can wait for, including a selected combination
// that the list lacks.
func waitOptions(chosen string) []ui.Option {
	pairs := []string{
		"dataset", "A new version of a dataset", "model", "A new version of a model",
		"model:staging", "A model enters staging", "model:production", "A model enters production", "model:archived", "A model is archived",
		"artifact", "A new artifact",
		"execution:SUCCEEDED", "An execution succeeds", "execution:FAILED", "An execution fails", "execution:CANCELLED", "An execution is cancelled",
		"execution:SUCCEEDED,FAILED,CANCELLED", "An execution ends",
		"event", "An event of the feed",
	}
	if !slices.Contains(pairs, chosen) && chosen != "" {
		kind, which, _ := strings.Cut(chosen, ":")
		pairs = append(pairs, chosen, strings.TrimSpace(kind+" "+strings.ToLower(strings.ReplaceAll(which, ",", " or "))))
	}
	return radios(chosen, pairs...)
}

// formField is the field of the form for a path of a spec.
func formField(path string) string {
	switch path {
	case "http.url", "http.path":
		return "address"
	}
	for _, prefix := range []string{"http.", "s3."} {
		if field, ok := strings.CutPrefix(path, prefix); ok {
			return field
		}
	}
	if index, field, ok := strings.Cut(strings.TrimPrefix(path, "all."), "."); ok && strings.HasPrefix(path, "all.") && slices.Contains([]string{"kind", "states", "stages"}, field) {
		return "all." + index + ".waits"
	}
	return path
}

// problems are the errors of a form with links to their fields, in the order of the form.
func problems(errors map[string]string) (list []ui.Action) {
	order := []string{"name", "sources", "states", "stages", "signature", "secret", "connection", "address", "bucket", "prefix", "pattern", "when", "every", "all", "within", "by", "filter", "workflow", "version", "inputs", "priority"}
	rank := func(field string) int {
		if strings.HasPrefix(field, "all.") {
			return slices.Index(order, "all")
		}
		return cmp.Or(slices.Index(order, field)+1, len(order)+1) - 1
	}
	fields := slices.SortedFunc(maps.Keys(errors), func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b)) })
	for _, field := range fields {
		list = append(list, ui.Action{Name: errors[field], URL: "#trigger-" + field})
	}
	return list
}
