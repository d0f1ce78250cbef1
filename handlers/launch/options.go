package launch

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
)

// launchOptions are the options of a launch besides its inputs, as submitted.
type launchOptions struct {
	cache   string            // mode for all operators
	cacheOf map[string]string // and for single ones, by name
	kept    map[string]string // retention, by the name of the definition's field
	tags    []string
	note    string
	faults  map[string]string // errors by the path of the API
}

const cachePrefix = "cache."

// keptFields are the controls of the retention.
func keptFields() map[string]string {
	return map[string]string{"ttl": "after_completion", "ttl_success": "after_success", "ttl_failure": "after_failure"}
}

// takeOptions reads the submitted options.
func takeOptions(sent url.Values) launchOptions {
	o := launchOptions{cache: sent.Get("cache"), cacheOf: map[string]string{}, kept: map[string]string{}, faults: map[string]string{}}
	o.tags, o.note = label.SplitTags(sent.Get("tags")), strings.TrimSpace(sent.Get("note"))
	for name := range sent {
		if operator, ok := strings.CutPrefix(name, cachePrefix); ok && sent.Get(name) != "" {
			o.cacheOf[operator] = sent.Get(name)
		}
	}
	for control, field := range keptFields() {
		if text := strings.TrimSpace(sent.Get(control)); text != "" {
			o.kept[field] = text
		}
	}
	return o
}

// labels are the tags and the note of the launch.
func (o *launchOptions) labels() index.Labels { return index.Labels{Tags: o.tags, Note: o.note} }

// options decodes the options and stores errors in faults.
func (o *launchOptions) options() (execution.CacheUse, workflow.TTL) {
	use, err := execution.ParseCacheUse(o.cache, o.cacheOf)
	o.blame(err)
	ttl, fields := workflow.ParseTTL(toAny(o.kept))
	o.record(fields)
	return use, ttl
}

func toAny(texts map[string]string) map[string]any {
	out := make(map[string]any, len(texts))
	for name, text := range texts {
		out[name] = text
	}
	return out
}

// blame stores the errors of options in err.
func (o *launchOptions) blame(err error) { o.record(apperr.FieldsOf(err)) }

func (o *launchOptions) record(fields []apperr.Field) {
	for _, f := range fields {
		if isOption(f.Path) {
			o.faults[f.Path] = f.Message
		}
	}
}

// isOption reports whether a path of a request is an option.
func isOption(path string) bool {
	root, _, _ := strings.Cut(path, ".")
	return slices.Contains([]string{"ttl", "cache", "resources", "tags", "note"}, root)
}

// optionControl is the control of an option and its label.
func optionControl(path string) (id, label string) {
	switch path {
	case "tags":
		return "execution-tags", "Tags"
	case "note":
		return "execution-note", "Note"
	case "ttl.after_success":
		return "execution-ttl-success", "After a success"
	case "ttl.after_failure":
		return "execution-ttl-failure", "After a failure"
	}
	if operator, ok := strings.CutPrefix(path, "resources."); ok {
		name := operator
		if operator == execution.EveryOperator {
			name = "all operators"
		}
		return views.ResourceOverrideID(operator), "Resources of " + name
	}
	if operator, ok := strings.CutPrefix(path, "cache.nodes."); ok {
		return views.CacheID(operator), "Cached results of " + operator
	}
	if strings.HasPrefix(path, "cache") {
		return "execution-cache", "Cached results"
	}
	return "execution-ttl", "Keep for"
}

// errorLines are the lines of the error summary.
func (o *launchOptions) errorLines() []forms.ErrorLine {
	var out []forms.ErrorLine
	for _, path := range o.faultPaths() {
		id, label := optionControl(path)
		out = append(out, forms.ErrorLine{Target: id, Label: label, Text: o.faults[path]})
	}
	return out
}

// faultPaths are the paths of the options with errors, in order.
func (o *launchOptions) faultPaths() []string { return slices.Sorted(maps.Keys(o.faults)) }

// key distinguishes the options of two requests.
func (o *launchOptions) key() any { return []any{o.cache, o.cacheOf, o.kept, o.tags, o.note} }

// offeredCaches is the maximum number of operators with their own cache setting on the page.
const offeredCaches = 50

// view is the options of a version for the page; keeps describes the default retention.
func (o *launchOptions) view(v workflow.Version, keeps string) views.LaunchOptions {
	out := views.LaunchOptions{
		KeepHelp: keeps, Keep: o.kept["after_completion"], KeepSuccess: o.kept["after_success"], KeepFailure: o.kept["after_failure"],
		KeepError: cmp.Or(o.faults["ttl.after_completion"], o.faults["ttl"]), KeepSuccessError: o.faults["ttl.after_success"], KeepFailureError: o.faults["ttl.after_failure"],
		Tags: strings.Join(o.tags, ", "), TagsError: o.faults["tags"], Note: o.note, NoteError: o.faults["note"],
	}
	var names []string
	for _, op := range v.Definition.EveryOperator() {
		if op.Cache != nil && !slices.Contains(names, op.Name) {
			names = append(names, op.Name)
		}
	}
	if len(names) == 0 {
		return out
	}
	out.Cache = cacheChoices(o.cache, "on", "Use and update the cache")
	for k, name := range names {
		if k >= offeredCaches && o.cacheOf[name] == "" {
			out.CacheMore++
			continue
		}
		out.CacheOf = append(out.CacheOf, views.OperatorCache{
			Operator: name, Choices: cacheChoices(o.cacheOf[name], "", "Same as for all"), Error: o.faults["cache.nodes."+name],
		})
	}
	out.More = len(o.cacheOf) > 0 || out.KeepSuccess != "" || out.KeepFailure != "" || len(o.faults) > 0
	return out
}

func cacheChoices(chosen, first, words string) []ui.Option {
	options := []ui.Option{{Value: first, Name: words}}
	if first == "" {
		options = append(options, ui.Option{Value: "on", Name: "Use and update the cache"})
	}
	options = append(options, ui.Option{Value: "refresh", Name: "Recompute and update the cache"}, ui.Option{Value: "off", Name: "Do not use the cache"})
	for i := range options {
		options[i].Selected = options[i].Value == chosen
	}
	return options
}

// keepsWithout describes the retention of executions whose launch does not set one.
func (h *Pages) keepsWithout(v workflow.Version) string {
	ttl := v.Definition.TTL
	if ttl.IsZero() {
		return "Leave empty to use the default. " + h.Retention.RuleText()
	}
	text := "Leave empty to use the workflow’s retention:"
	success, forSuccess := ttl.After(true)
	failure, forFailure := ttl.After(false)
	switch {
	case forSuccess && forFailure && success == failure:
		return text + " " + units.Duration(success) + "."
	case forSuccess && forFailure:
		return text + " " + units.Duration(success) + " after a success, " + units.Duration(failure) + " after a failure."
	case forSuccess:
		return text + " " + units.Duration(success) + " after a success."
	}
	return text + " " + units.Duration(failure) + " after a failure."
}

// optionsOf are the launch options of an earlier execution.
func optionsOf(ttl workflow.TTL) launchOptions {
	o := takeOptions(url.Values{})
	for field, d := range map[string]*time.Duration{"after_completion": ttl.Completion, "after_success": ttl.Success, "after_failure": ttl.Failure} {
		const day = 24 * time.Hour
		switch {
		case d == nil:
		case *d > 0 && *d%day == 0:
			o.kept[field] = fmt.Sprintf("%dd", *d/day)
		default:
			o.kept[field] = d.String()
		}
	}
	return o
}
