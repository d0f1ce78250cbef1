package label

import (
	"net/url"
	"strconv"

	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// CurveKeys are the parameters of an address that say how curves are drawn.
func CurveKeys() []string { return []string{"x", "smooth", "scale", "xscale", "outliers"} }

// Axis is the horizontal axis that an address selects; the step for any other text.
func Axis(text string) telemetry.Axis {
	switch a := telemetry.Axis(text); a {
	case telemetry.AxisTime, telemetry.AxisRelative:
		return a
	}
	return telemetry.AxisStep
}

// Curves are the controls of curves as the address q sets them. with returns the address with another
// horizontal axis, whose value is "" for the step.
func Curves(q url.Values, with func(axis string) string) views.CompareCurves {
	axis := Axis(q.Get("x"))
	m := views.CompareCurves{Log: q.Get("scale") == "log", LogAxis: q.Get("xscale") == "log", NoLog: axis == telemetry.AxisTime, Outlier: q.Get("outliers") == "hide"}
	if n, err := strconv.Atoi(q.Get("smooth")); err == nil && n >= 0 && n <= 95 {
		m.Smooth = n
	}
	for _, a := range []struct {
		key         telemetry.Axis
		value, name string
	}{{telemetry.AxisStep, "", "Step"}, {telemetry.AxisTime, "time", "Time"}, {telemetry.AxisRelative, "relative", "Since start"}} {
		m.Axes = append(m.Axes, ui.Choice{Name: a.name, URL: with(a.value), Current: a.key == axis})
	}
	return m
}
