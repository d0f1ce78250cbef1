package workflow

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	maxDelay   = 30 * 24 * time.Hour // of timeouts and retry delays
	maxCPU     = 1_000_000           // millicores
	maxMiB     = 1 << 30             // a pebibyte
	maxGPUs    = 10_000
	maxRetries = 100
	maxPods    = 1000

	maxGracePeriod = time.Hour
)

// duration returns a time span: "10m", "1h30m", "2d" or a number of seconds.
func (o *object) duration(fallback time.Duration, names ...string) time.Duration {
	v, path, _ := o.get(names...)
	if v == nil {
		return fallback
	}
	d, ok := parseDuration(v)
	switch {
	case !ok:
		o.add(path, "This must be a time span such as 30s, 10m or 1h30m.")
	case d < 0 || d > maxDelay:
		o.add(path, "This must be between 0 and 30 days.")
	default:
		return d
	}
	return fallback
}

func parseDuration(v any) (time.Duration, bool) {
	switch v := v.(type) {
	case json.Number:
		return seconds(v.String())
	case string:
		if d, err := time.ParseDuration(v); err == nil {
			return d, true
		}
		if days, rest, ok := strings.Cut(v, "d"); ok {
			whole, err := strconv.Atoi(days)
			if err != nil || whole < 0 || whole > 10_000 {
				return 0, false
			}
			var part time.Duration
			if rest != "" {
				if part, err = time.ParseDuration(rest); err != nil || part < 0 {
					return 0, false
				}
			}
			return time.Duration(whole)*24*time.Hour + part, true
		}
		return seconds(v)
	}
	return 0, false
}

func seconds(s string) (time.Duration, bool) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || math.Abs(f) > 1e9 {
		return 0, false
	}
	return time.Duration(f * float64(time.Second)).Round(time.Millisecond), true
}

// whole returns a whole number from low to high.
func (o *object) whole(fallback, low, high int, names ...string) int {
	v, path, _ := o.get(names...)
	if v == nil {
		return fallback
	}
	n, err := strconv.Atoi(numberText(v))
	if err != nil || n < low || n > high {
		o.add(path, "This must be a whole number from %d to %d.", low, high)
		return fallback
	}
	return n
}

// fraction returns a number from low to high.
func (o *object) fraction(fallback, low, high float64, names ...string) float64 {
	v, path, _ := o.get(names...)
	if v == nil {
		return fallback
	}
	f, err := strconv.ParseFloat(numberText(v), 64)
	if err != nil || !(f >= low && f <= high) {
		o.add(path, "This must be a number from %g to %g.", low, high)
		return fallback
	}
	return f
}

func numberText(v any) string {
	n, _ := v.(json.Number)
	return n.String()
}

var quantityPattern = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?([A-Za-z]*)$`)

// cpu returns millicores: "500m", or a number of cores.
func (o *object) cpu(names ...string) int {
	return o.quantity(maxCPU, "cores such as 500m, 2 or 0.5", map[string]float64{"": 1000, "m": 1}, names...)
}

// size returns MiB: "512Mi", "2Gi", "500M". A number alone counts in unit, and is
// refused when that is 0.
func (o *object) size(unit float64, names ...string) int {
	const mib = 1 << 20
	units := map[string]float64{
		"": unit, "Ki": 1.0 / 1024, "Mi": 1, "MiB": 1, "Gi": 1024, "GiB": 1024, "Ti": 1 << 20, "TiB": 1 << 20,
		"K": 1e3 / mib, "M": 1e6 / mib, "MB": 1e6 / mib, "G": 1e9 / mib, "GB": 1e9 / mib, "T": 1e12 / mib, "TB": 1e12 / mib,
	}
	return o.quantity(maxMiB, "a size such as 512Mi or 2Gi", units, names...)
}

// quantity rounds up to whole units.
func (o *object) quantity(limit int, example string, units map[string]float64, names ...string) int {
	v, path, _ := o.get(names...)
	if v == nil {
		return 0
	}
	text, ok := v.(string)
	if !ok {
		text = numberText(v)
	}
	match := quantityPattern.FindStringSubmatch(text)
	factor := 0.0
	if match != nil {
		factor = units[match[2]]
	}
	if factor == 0 {
		o.add(path, "This must be %s.", example)
		return 0
	}
	f, err := strconv.ParseFloat(match[1], 64)
	amount := math.Ceil(f*factor - 1e-9)
	if err != nil || amount > float64(limit) {
		o.add(path, "This is more than any machine has.")
		return 0
	}
	return int(amount)
}
