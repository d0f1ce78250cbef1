package api

import (
	"context"
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/web/contract"
)

// launchAnswer contains launched with status 201, or dryRun with status 200.
type launchAnswer struct {
	Status int
	Body   any
}

// launchResponses describes both responses of a launch.
func launchResponses(api *operations) map[string]*huma.Response {
	return map[string]*huma.Response{
		strconv.Itoa(http.StatusCreated): answerOf(api, "Launched", reflect.TypeFor[contract.Launched]()),
		strconv.Itoa(http.StatusOK):      answerOf(api, "With dry_run, nothing is launched", reflect.TypeFor[contract.DryRun]()),
	}
}

// answerOf describes one response of an operation that has several.
func answerOf(api *operations, about string, t reflect.Type) *huma.Response {
	schema := api.OpenAPI().Components.Schemas.Schema(t, true, "")
	return &huma.Response{Description: about, Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}}
}

// isDryRun reports whether r only previews a launch. The leader answers previews.
func isDryRun(r *http.Request) bool { return r.URL.Query().Has("dry_run") }

// apiDryRun previews a launch without launching anything.
func (h *executionAPI) apiDryRun(ctx context.Context, request execution.LaunchRequest) (*launchAnswer, error) {
	check, err := h.Executions.Launches.Check(ctx, request)
	if err != nil {
		return nil, err
	}
	return &launchAnswer{http.StatusOK, contract.DryRun{
		DryRun: true, Valid: len(check.Problems) == 0, Errors: check.Problems, Version: check.Version.Version, Forecast: toForecastBody(check.Forecast),
	}}, nil
}

func toForecastBody(f execution.Forecast) contract.ForecastBody {
	out := contract.ForecastBody{
		Verdict: string(f.Verdict), Message: f.Message, Node: f.Node, Resource: string(f.Resource), JobsAhead: f.Ahead,
		StartsFrom: f.StartsFrom, StartsTo: f.StartsTo, Reason: f.Reason, RunsSeconds: f.Duration.Seconds(), GPUHours: f.GPUHours, FromAttempts: f.Basis,
	}
	if f.Verdict == fair.FitsNow || f.Wait > 0 {
		out.WaitSeconds = new(f.Wait.Seconds())
	}
	for _, c := range f.Choices {
		out.Choices = append(out.Choices, contract.ChoiceBody{GPUType: c.GPUType, Verdict: string(c.Forecast.Verdict), Message: c.Forecast.Message})
	}
	return out
}
