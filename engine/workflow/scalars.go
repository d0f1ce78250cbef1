package workflow

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/flowforge/flowforge/platform/units"
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
		o.add(path, "This must be a duration such as 30s, 10m or 1h30m.")
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
		return units.Seconds(v.String())
	case string:
		return units.Seconds(v)
	}
	return 0, false
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

// cpu returns millicores: "500m", or a number of cores.
func (o *object) cpu(names ...string) int {
	return o.quantity(maxCPU, "cores such as 500m, 2 or 0.5", func(unit string) (float64, bool) {
		factor, ok := map[string]float64{"": 1000, "m": 1}[unit]
		return factor, ok
	}, names...)
}

// size returns MiB: "512Mi", "2Gi", "500M". A number alone counts in alone, and is
// refused when that is 0.
func (o *object) size(alone float64, names ...string) int {
	return o.quantity(maxMiB, "a size such as 512Mi or 2Gi", func(unit string) (float64, bool) {
		if unit == "" {
			return alone, alone > 0
		}
		bytes, ok := units.SizeOf(unit)
		return bytes / (1 << 20), ok
	}, names...)
}

// quantity rounds up to whole units.
func (o *object) quantity(limit int, example string, factor func(unit string) (float64, bool), names ...string) int {
	v, path, _ := o.get(names...)
	if v == nil {
		return 0
	}
	text, ok := v.(string)
	if !ok {
		text = numberText(v)
	}
	number, unit, ok := units.Quantity(text)
	scale, known := factor(unit)
	if !ok || !known || number < 0 {
		o.add(path, "This must be %s.", example)
		return 0
	}
	amount := math.Ceil(number*scale - 1e-9)
	if amount > float64(limit) {
		o.add(path, "This exceeds the capacity of any machine.")
		return 0
	}
	return int(amount)
}
