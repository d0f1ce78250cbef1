package triggers

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/engine/trigger"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// joined are the fields of a trigger on several events, as they were typed.
type joined struct {
	conditions []condition
	within, by string
}

// condition are the fields of a condition. waits is a kind with states, stages or when, such as
// model:production.
type condition struct {
	name, waits, sources, filter, by string
	signature, secret                string
	poll                             polled
}

func newCondition() condition {
	return condition{waits: string(trigger.OnDataset), poll: newPoll()}
}

func newJoin() joined {
	return joined{within: trigger.DefaultWithin, conditions: []condition{newCondition(), newCondition()}}
}

func joinedOf(f url.Values) joined {
	j := joined{within: f.Get("within"), by: f.Get("by")}
	for i := range trigger.MaxConditions + 1 {
		at := fmt.Sprintf("all.%d.", i)
		if !f.Has(at + "name") {
			break
		}
		c := condition{
			name: f.Get(at + "name"), waits: f.Get(at + "waits"), sources: f.Get(at + "sources"), filter: f.Get(at + "filter"), by: f.Get(at + "by"),
			signature: f.Get(at + "signature"), secret: f.Get(at + "secret"),
			poll: polled{
				connection: f.Get(at + "portal"), address: f.Get(at + "address"), bucket: f.Get(at + "bucket"), prefix: f.Get(at + "prefix"),
				pattern: f.Get(at + "pattern"), every: f.Get(at + "every"), existing: f.Get(at+"existing") == "true",
			},
		}
		var kind string
		if kind, c.poll.when, _ = strings.Cut(c.waits, ":"); kind == string(trigger.OnS3) {
			c.poll.connection = f.Get(at + "store")
		}
		j.conditions = append(j.conditions, c)
	}
	return j
}

func storedJoin(t trigger.Trigger) joined {
	if t.Join == nil {
		return newJoin()
	}
	j := joined{within: t.Join.Within, by: t.Join.By}
	for _, c := range t.Join.All {
		j.conditions = append(j.conditions, condition{
			name: c.Name, waits: waitsOf(c), sources: strings.Join(c.Sources, ", "), filter: c.Filter, by: c.By, signature: string(c.Signature), secret: c.Secret,
			poll: storedPoll(c.HTTP, c.S3),
		})
	}
	return j
}

// change adds or removes a condition if the form requests it.
func (j *joined) change(f url.Values) bool {
	if f.Has("add") {
		j.conditions = append(j.conditions, newCondition())
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
		of := trigger.Condition{
			Name: c.name, Kind: trigger.Kind(kind), Sources: strings.Split(c.sources, ","), Signature: trigger.Signature(c.signature), Secret: c.secret, Filter: c.filter, By: c.by,
		}
		of.HTTP, of.S3 = c.poll.settings(of.Kind)
		switch of.Kind { //nolint:exhaustive // the others have neither
		case trigger.OnExecution:
			of.States = strings.Split(which, ",")
		case trigger.OnModel:
			of.Stages = strings.Split(which, ",")
		}
		sp.Join.All = append(sp.Join.All, of.Own())
	}
}

// joinForm are the fields of a trigger on several events.
func (h *Pages) joinForm(r *http.Request, j joined) (*views.TriggerJoinForm, error) {
	secrets, err := h.Secrets.List(r.Context())
	if err != nil {
		return nil, err
	}
	portals, err := h.connections(r, connection.HTTP)
	if err != nil {
		return nil, err
	}
	buckets, err := h.connections(r, connection.S3)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(secrets))
	for i, s := range secrets {
		names[i] = s.Name
	}
	out := &views.TriggerJoinForm{Within: j.within, By: j.by, CanAdd: len(j.conditions) < trigger.MaxConditions}
	for i, c := range j.conditions {
		out.Conditions = append(out.Conditions, views.TriggerConditionForm{
			Index: strconv.Itoa(i), Title: fmt.Sprintf("Condition %d", i+1), Name: c.name, Sources: c.sources, Filter: c.filter, By: c.by,
			Waits: waitOptions(c.waits), CanRemove: len(j.conditions) > 2,
			Signatures: signatures(c.signature), Secrets: optionsOf(names, c.secret, "Choose a secret"),
			Portals: optionsOf(portals, c.poll.connection, "No connection"), Buckets: optionsOf(buckets, c.poll.connection, "Choose a connection"),
			Address: c.poll.address, BucketName: c.poll.bucket, Prefix: c.poll.prefix, Pattern: c.poll.pattern, Every: c.poll.every,
			Existing: radios(strconv.FormatBool(c.poll.existing), "false", "Ignore", "true", "Count as events"),
		})
	}
	return out, nil
}

// optionsOf are names to choose from, after an empty option.
func optionsOf(names []string, chosen, none string) []ui.Option {
	list := []ui.Option{{Name: none}}
	for _, name := range names {
		list = append(list, ui.Option{Value: name, Name: name, Selected: name == chosen})
	}
	return list
}

// waitsOf describes what a condition waits for, in the format of the form.
func waitsOf(c trigger.Condition) string {
	which := append(slices.Clone(c.States), c.Stages...)
	if c.HTTP != nil {
		which = []string{string(c.HTTP.When)}
	}
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
		"event", "An event in the feed",
		"webhook", "A webhook arrives", "http:changes", "An address changes", "http:appears", "An address appears", "s3", "An object in a bucket",
	}
	if !slices.Contains(pairs, chosen) && chosen != "" {
		kind, which, _ := strings.Cut(chosen, ":")
		pairs = append(pairs, chosen, strings.TrimSpace(kind+" "+strings.ToLower(strings.ReplaceAll(which, ",", " or "))))
	}
	return radios(chosen, pairs...)
}
