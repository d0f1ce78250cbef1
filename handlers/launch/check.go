package launch

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/sentence"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// forecastVerdict adds a forecast of the launch to check.
func (h *Pages) forecastVerdict(r *http.Request, d *draft, check *views.LaunchCheck) {
	ctx := r.Context()
	fit, err := h.Executions.Forecasts.Fits(ctx, d.version.ID)
	if err != nil {
		return // the launch itself reports the error
	}
	if !fit.OK {
		check.Never, check.Summary = true, "Cannot run here"
		verdict := views.Verdict{Tone: "no", Strong: "Cannot run here.", Text: fit.Message}
		if operator, reason, ok := strings.Cut(fit.Message, ": "); ok { // the reason begins with the same words
			verdict.Strong, verdict.Text = operator+":", reason
		}
		check.Verdicts = append(check.Verdicts, verdict)
		return
	}
	priority, err := d.requestedPriority()
	if err != nil {
		priority = query.Normal
	}
	f, err := h.Executions.Forecasts.Forecast(ctx, d.version.ID, priority)
	if err != nil {
		h.logForecast(ctx, err)
		return
	}
	showForecast(h.Page.Clock(r), f, check)
	if fact, ok := h.defaultRequests(d.version); ok && f.Verdict != fair.NeverFits {
		check.Facts = append(check.Facts, fact)
	}
}

// defaultRequests states the default requests of tasks without their own CPU or memory.
func (h *Pages) defaultRequests(v workflow.Version) (ui.Fact, bool) {
	cpu, memory := h.Executions.Launches.DefaultRequests(v.ProjectID)
	var tasks int
	for _, op := range v.Definition.EveryOperator() {
		if op.Runs() && (op.Resources.CPUMillis == 0 && cpu > 0 || op.Resources.MemoryMiB == 0 && memory > 0) {
			tasks++
		}
	}
	if tasks == 0 {
		return ui.Fact{}, false
	}
	note := "for tasks without requests"
	return ui.Fact{Name: "Default requests", Value: fmt.Sprintf("%dm CPU, %d MiB of memory", cpu, memory), Note: note}, true
}

// logForecast logs why the form has no forecast.
func (h *Pages) logForecast(ctx context.Context, err error) {
	if ctx.Err() == nil {
		h.Log.Warn("forecast a launch", "error", err)
	}
}

// showForecast shows a forecast in the panel and in the bar.
func showForecast(clock ui.Clock, f execution.Forecast, check *views.LaunchCheck) {
	v := views.Verdict{Tone: forecastTone(f.Verdict), Strong: f.Message}
	if f.Reason != nil && f.Verdict == fair.WouldWait {
		v.Text = f.Reason.Message
	}
	switch {
	case f.Verdict == fair.WouldWait && v.Text != "":
		v.Text = sentence.Waits(f.Node, v.Text)
	case f.Verdict == fair.NeverFits && f.Node != "":
		v.Text = "Node: " + f.Node + "."
	}
	check.Verdicts = append(check.Verdicts, v)
	check.Never, check.Waits = f.Verdict == fair.NeverFits, f.Verdict == fair.WouldWait
	switch {
	case check.Never:
		check.Summary = "Cannot run here"
	case check.Ready:
		check.Summary = forecastSummary(f)
	}
	for _, c := range f.Choices {
		check.Choices = append(check.Choices, views.Verdict{Tone: forecastTone(c.Forecast.Verdict), Strong: c.GPUType + ":", Text: c.Forecast.Message})
	}
	check.Facts = forecastFacts(clock, f)
}

func forecastTone(v fair.Verdict) string {
	switch v {
	case fair.WouldWait:
		return "wait"
	case fair.NeverFits:
		return "no"
	case fair.FitsNow:
	}
	return "ok"
}

// forecastSummary is a short forecast.
func forecastSummary(f execution.Forecast) string {
	switch {
	case f.Verdict == fair.FitsNow:
		return "Fits now"
	case f.Wait > 0:
		return "Would wait about " + units.Duration(roundEstimate(f.Wait))
	}
	return "Would wait"
}

// roundEstimate rounds an estimate to its likely precision.
func roundEstimate(d time.Duration) time.Duration {
	if d < time.Minute {
		return max(d.Round(time.Second), time.Second)
	}
	return d.Round(time.Minute)
}

// forecastFacts are the estimated start, end and usage.
func forecastFacts(clock ui.Clock, f execution.Forecast) []ui.Fact {
	if f.Verdict == fair.NeverFits {
		return nil
	}
	var facts []ui.Fact
	starts := clock.Now
	if f.Verdict == fair.WouldWait {
		value, note := label.StartBand(clock, f.StartsFrom, f.StartsTo)
		if value == "" {
			facts = append(facts, ui.Fact{Name: "Starts", Value: "unknown", Note: "not enough history"})
			return append(facts, usageFacts(f)...)
		}
		facts = append(facts, ui.Fact{Name: "Starts", Value: value, Note: note})
		starts = starts.Add(f.Wait)
	}
	if f.Duration > 0 {
		facts = append(facts, ui.Fact{Name: "Ends", Value: "≈ " + clock.Moment(starts.Add(f.Duration)).Text, Note: "after about " + units.Duration(roundEstimate(f.Duration))})
	}
	return append(facts, usageFacts(f)...)
}

func usageFacts(f execution.Forecast) []ui.Fact {
	var facts []ui.Fact
	if f.GPUHours > 0 {
		facts = append(facts, ui.Fact{Name: "Uses", Value: fmt.Sprintf("about %.2g GPU-hours", f.GPUHours)})
	}
	if f.Basis > 0 {
		facts = append(facts, ui.Fact{Name: "Based on", Value: units.Plural(f.Basis, "earlier attempt", "earlier attempts")})
	}
	return facts
}
