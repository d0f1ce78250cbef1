package triggers

import (
	"cmp"
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

// storedPoll returns the fields of what a trigger or a condition polls.
func storedPoll(h *trigger.HTTPPoll, b *trigger.S3Poll) polled {
	switch {
	case h != nil:
		return polled{connection: h.Connection, address: h.URL + h.Path, when: string(h.When), every: h.Every, existing: h.Existing}
	case b != nil:
		return polled{connection: b.Connection, bucket: b.Bucket, prefix: b.Prefix, pattern: b.Pattern, every: b.Every, existing: b.Existing}
	}
	return newPoll()
}

// settings returns what a trigger or a condition of a kind polls. An address is a URL, or a path below the
// selected connection.
func (p polled) settings(kind trigger.Kind) (*trigger.HTTPPoll, *trigger.S3Poll) {
	switch kind { //nolint:exhaustive // the others do not poll
	case trigger.OnHTTP:
		h := &trigger.HTTPPoll{Connection: p.connection, When: trigger.When(p.when), Every: p.every, Existing: p.existing}
		if p.connection == "" {
			h.URL = p.address
		} else {
			h.Path = p.address
		}
		return h, nil
	case trigger.OnS3:
		return nil, &trigger.S3Poll{Connection: p.connection, Bucket: p.bucket, Prefix: p.prefix, Pattern: p.pattern, Every: p.every, Existing: p.existing}
	}
	return nil, nil
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
	list, err := h.connections(r, kind)
	if err != nil {
		return nil, err
	}
	if !out.Bucket {
		out.Connections = append(out.Connections, ui.Option{Name: "No connection", Selected: p.connection == ""})
	}
	for _, name := range list {
		out.Connections = append(out.Connections, ui.Option{Value: name, Name: name, Selected: name == p.connection})
	}
	return out, nil
}

// connections returns the names of the connections of a kind: none without the permission to use them.
func (h *Pages) connections(r *http.Request, kind string) (names []string, err error) {
	list, err := h.Connections.List(r.Context(), kind)
	if err != nil && !apperr.Is(err, apperr.Forbidden) {
		return nil, err
	}
	for _, c := range list {
		names = append(names, c.Name)
	}
	return names, nil
}

// radios are options as pairs of a value and a name.
func radios(chosen string, pairs ...string) (list []ui.Option) {
	for pair := range slices.Chunk(pairs, 2) {
		list = append(list, ui.Option{Value: pair[0], Name: pair[1], Selected: pair[0] == chosen})
	}
	return list
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
	if rest, ok := strings.CutPrefix(path, "all."); ok {
		if index, field, ok := strings.Cut(rest, "."); ok {
			return "all." + index + "." + conditionField(field)
		}
	}
	return path
}

// conditionField is the field of the form for a field of a condition.
func conditionField(field string) string {
	switch field {
	case "kind", "states", "stages", "http.when":
		return "waits"
	case "http.url", "http.path":
		return "address"
	case "http.connection":
		return "portal"
	case "s3.connection":
		return "store"
	}
	return strings.TrimPrefix(strings.TrimPrefix(field, "http."), "s3.")
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
