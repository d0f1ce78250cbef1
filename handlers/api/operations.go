package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/handlers/leader"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/web"
)

// operations is the API to which resources add their operations.
type operations struct {
	huma.API
	log    *slog.Logger
	leader *leader.Routes
}

// operation registers fn at method and path below request.APIPrefix. Errors of fn become problem
// responses; internal errors are also logged.
func operation[I, O any](api *operations, op huma.Operation, fn func(context.Context, *I) (*O, error)) {
	op.Path = request.APIPrefix + op.Path
	op.Errors = errorStatuses(op.Method, hasBody(reflect.TypeFor[I]()))
	huma.Register(api.API, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := fn(ctx, in)
		if err == nil {
			return out, nil
		}
		if apperr.Is(err, apperr.Internal) {
			api.log.Error("request failed", "request_id", web.RequestID(ctx), "operation", op.OperationID, "error", err)
		}
		p := &apiError{web.ProblemOf(err, web.RequestID(ctx))}
		if exceeded, ok := errors.AsType[*quotaExceededError](err); ok {
			exceeded.extend(&p.Problem)
		}
		return nil, p
	})
}

// ledBy marks an operation below request.APIPrefix that only the leader of the scheduler can
// answer, or those of its requests for which when returns true. nil means all requests.
func (o *operations) ledBy(op huma.Operation, when func(*http.Request) bool) huma.Operation {
	mark := o.leader.Mark(op.Method, request.APIPrefix+op.Path, when)
	op.Middlewares = append(op.Middlewares, func(ctx huma.Context, next func(huma.Context)) {
		r, w := humachi.Unwrap(ctx)
		if !mark.Answer(w, r) {
			next(ctx)
		}
	})
	return op
}

// errorStatuses are the statuses of the errors that an operation can return.
func errorStatuses(method string, body bool) []int {
	statuses := []int{
		http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusUnprocessableEntity,
		http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable,
	}
	if method != http.MethodGet {
		statuses = append(statuses, http.StatusConflict)
	}
	if body {
		statuses = append(statuses, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	slices.Sort(statuses)
	return statuses
}

// hasBody reports whether requests of a type have a body.
func hasBody(input reflect.Type) bool {
	_, decoded := input.FieldByName("Body")
	_, raw := input.FieldByName("RawBody")
	return decoded || raw
}
