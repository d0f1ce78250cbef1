package schedule

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/flowforge/flowforge/apperr"
)

// Times are the values of the tags in inputs, in the time zone of the schedule.
type Times struct {
	Scheduled     time.Time // the time of the run, without the jitter
	IntervalStart time.Time // the time of the previous run
	IntervalEnd   time.Time // the time of the run
}

func (t Times) of(name string) (time.Time, bool) {
	switch name {
	case "scheduled_time":
		return t.Scheduled, true
	case "data_interval_start":
		return t.IntervalStart, true
	case "data_interval_end":
		return t.IntervalEnd, true
	}
	return time.Time{}, false
}

// tag matches {{ name }} and {{ name | filter }} of the names that begin like those of Times.
var tag = regexp.MustCompile(`\{\{\s*((?:schedul|data_interval)\w*)\s*(?:\|\s*([^{}]*?)\s*)?\}\}`)

var dateFilter = regexp.MustCompile(`^date(?::\s*"([^"]*)")?$`)

// render replaces the tags in inputs: {{scheduled_time}} is RFC 3339, and | date a day or the given
// layout. Other text in braces stays as it is, because inputs can be templates themselves.
func render(inputs map[string]any, times Times) (map[string]any, []apperr.Field) {
	var fields []apperr.Field
	out, _ := renderValue(inputs, "inputs", times, &fields).(map[string]any)
	return out, fields
}

func renderValue(v any, path string, times Times, fields *[]apperr.Field) any {
	switch v := v.(type) {
	case string:
		return tag.ReplaceAllStringFunc(v, func(text string) string {
			out, problem := renderTag(tag.FindStringSubmatch(text), times)
			if problem != "" {
				*fields = append(*fields, apperr.Field{Path: path, Message: problem})
			}
			return out
		})
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = renderValue(item, fmt.Sprintf("%s.%d", path, i), times, fields)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out[name] = renderValue(v[name], path+"."+name, times, fields)
		}
		return out
	}
	return v
}

func renderTag(m []string, times Times) (text, problem string) {
	at, ok := times.of(m[1])
	if !ok {
		return m[0], fmt.Sprintf("Unknown value {{%s}}. The values are scheduled_time, data_interval_start and data_interval_end.", m[1])
	}
	if m[2] == "" {
		return at.Format(time.RFC3339), ""
	}
	f := dateFilter.FindStringSubmatch(m[2])
	if f == nil {
		return m[0], fmt.Sprintf("Unknown filter %q. Use date, or date with a layout such as date:%q.", m[2], "2006.01")
	}
	if strings.Contains(m[2], ":") {
		return at.Format(f[1]), ""
	}
	return at.Format(time.DateOnly), ""
}
