package api

import (
	"context"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// launchAnswer is launched with 201, or dryRun with 200.
type launchAnswer struct {
	Status int
	Body   any
}

type dryRun struct {
	DryRun   bool           `json:"dry_run"`
	Valid    bool           `json:"valid" doc:"True if the values of the request are valid"`
	Errors   []apperr.Field `json:"errors,omitempty"`
	Version  string         `json:"version" doc:"Version that would run"`
	Forecast forecastBody   `json:"forecast"`
}

type forecastBody struct {
	Verdict      string            `json:"verdict" enum:"now,waits,never"`
	Message      string            `json:"message"`
	Node         string            `json:"node,omitempty" doc:"Node that waits longest or can never start"`
	Resource     string            `json:"resource,omitempty"`
	JobsAhead    int               `json:"jobs_ahead,omitempty"`
	WaitSeconds  *float64          `json:"wait_seconds,omitempty" doc:"Absent if there is no estimate"`
	StartsFrom   *time.Time        `json:"starts_from,omitempty"`
	StartsTo     *time.Time        `json:"starts_to,omitempty"`
	Reason       *execution.Reason `json:"reason,omitempty"`
	Choices      []choiceBody      `json:"choices,omitempty" doc:"Other types of GPU"`
	RunsSeconds  float64           `json:"runs_seconds,omitempty" doc:"Estimated run time once the execution has started"`
	GPUHours     float64           `json:"gpu_hours,omitempty"`
	FromAttempts int               `json:"from_attempts,omitempty" doc:"Number of earlier attempts that the estimates are based on"`
}

type choiceBody struct {
	GPUType string `json:"gpu_type"`
	Verdict string `json:"verdict" enum:"now,waits,never"`
	Message string `json:"message"`
}

// launchResponses describes both answers of a launch.
func launchResponses(api huma.API) map[string]*huma.Response {
	return map[string]*huma.Response{
		strconv.Itoa(http.StatusCreated): answerOf(api, "Launched", reflect.TypeFor[launched]()),
		strconv.Itoa(http.StatusOK):      answerOf(api, "With dry_run: nothing was launched", reflect.TypeFor[dryRun]()),
	}
}

// answerOf describes one answer of an operation that has several.
func answerOf(api huma.API, about string, t reflect.Type) *huma.Response {
	schema := api.OpenAPI().Components.Schemas.Schema(t, true, "")
	return &huma.Response{Description: about, Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}}
}

// isDryRun reports whether r asks what would become of a launch: the leader foresees that.
func isDryRun(r *http.Request) bool { return r.URL.Query().Has("dry_run") }

// apiDryRun answers what would become of a launch, and launches nothing.
func (h *API) apiDryRun(ctx context.Context, request execution.LaunchRequest) (*launchAnswer, error) {
	check, err := h.Executions.Check(ctx, request)
	if err != nil {
		return nil, err
	}
	return &launchAnswer{http.StatusOK, dryRun{
		DryRun: true, Valid: len(check.Problems) == 0, Errors: check.Problems, Version: check.Version.Version, Forecast: toForecastBody(check.Forecast),
	}}, nil
}

func toForecastBody(f execution.Forecast) forecastBody {
	out := forecastBody{
		Verdict: string(f.Verdict), Message: f.Message, Node: f.Node, Resource: string(f.Resource), JobsAhead: f.Ahead,
		StartsFrom: f.StartsFrom, StartsTo: f.StartsTo, Reason: f.Reason, RunsSeconds: f.Duration.Seconds(), GPUHours: f.GPUHours, FromAttempts: f.Basis,
	}
	if f.Verdict == fair.FitsNow || f.Wait > 0 {
		out.WaitSeconds = new(f.Wait.Seconds())
	}
	for _, c := range f.Choices {
		out.Choices = append(out.Choices, choiceBody{c.GPUType, string(c.Forecast.Verdict), c.Forecast.Message})
	}
	return out
}
