package handlers

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/web"
)

const apiPrefix = "/api/v1"

// apiProblem is how huma answers with one of our errors.
type apiProblem struct{ web.Problem }

func (p *apiProblem) Error() string                { return p.Detail }
func (p *apiProblem) GetStatus() int               { return p.Status }
func (p *apiProblem) ContentType(string) string    { return "application/problem+json" }
func (p *apiProblem) MarshalJSON() ([]byte, error) { return json.Marshal(p.Problem) }
func (p *apiProblem) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[web.Problem](), true, "Problem")
}

// problemFromHuma turns what huma finds wrong with a request into our shape, with
// the path of each value as the caller wrote it.
func problemFromHuma(ctx huma.Context, status int, message string, errs ...error) huma.StatusError {
	code := apperr.Invalid
	switch status {
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		code = apperr.NotFound
	case http.StatusUnprocessableEntity, http.StatusBadRequest:
		status = http.StatusUnprocessableEntity
		message = "The request has values that need a change."
	}
	var fields []apperr.Field
	for _, err := range errs {
		if d, ok := err.(huma.ErrorDetailer); ok { //nolint:errorlint // huma passes its details bare
			detail := d.ErrorDetail()
			fields = append(fields, apperr.Field{Path: strings.TrimPrefix(detail.Location, "body."), Message: detail.Message})
		} else if err != nil {
			fields = append(fields, apperr.Field{Path: "body", Message: err.Error()})
		}
	}
	p := &apiProblem{web.Problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: message, Code: code, Errors: fields,
	}}
	if ctx != nil {
		p.RequestID = web.RequestID(ctx.Context())
	}
	return p
}

// humaErrors points huma's package-wide error constructors at ours, once.
var humaErrors = sync.OnceFunc(func() {
	huma.NewErrorWithContext = problemFromHuma
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		return problemFromHuma(nil, status, message, errs...)
	}
})

// newAPI mounts the JSON API below apiPrefix and returns its description.
func (h *Handlers) newAPI(r chi.Router) huma.API {
	humaErrors()
	config := huma.DefaultConfig("FlowForge", "1.0.0")
	config.Info.Description = "Register typed workflows, launch them, and read their logs, metrics and artifacts."
	config.OpenAPIPath = apiPrefix + "/openapi"
	config.SchemasPath = apiPrefix + "/schemas"
	config.DocsPath = ""
	config.CreateHooks = nil
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token": {Type: "http", Scheme: "bearer", Description: "The content of admin.token in the server's data directory."},
	}
	config.Security = []map[string][]string{{"token": {}}}
	api := humachi.New(r, config)
	h.workflowAPI(api)
	h.executionAPI(api)
	h.executionDataAPI(api)
	h.artifactAPI(api)
	h.typeAPI(api)
	h.catalogueAPI(api)
	return api
}

// operation registers fn at method and path below apiPrefix; errors of fn are
// answered as problems, and the internal ones logged.
func operation[I, O any](h *Handlers, api huma.API, op huma.Operation, fn func(context.Context, *I) (*O, error)) {
	op.Path = apiPrefix + op.Path
	if op.Errors == nil {
		op.Errors = []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusUnprocessableEntity}
	}
	huma.Register(api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := fn(ctx, in)
		if err == nil {
			return out, nil
		}
		if apperr.Is(err, apperr.Internal) {
			h.Log.Error("request failed", "request_id", web.RequestID(ctx), "operation", op.OperationID, "error", err)
		}
		return nil, &apiProblem{web.ProblemOf(err, web.RequestID(ctx))}
	})
}

// body is an answer with a JSON body.
type body[T any] struct{ Body T }

func reply[T any](v T) *body[T] { return &body[T]{Body: v} }

// pageQuery is how lists are read: a page at a time, by the cursor of the one before.
type pageQuery struct {
	Page  string `query:"page" doc:"Cursor from next_page of the page before" maxLength:"400"`
	Limit int    `query:"limit" doc:"Rows of a page" minimum:"1" maximum:"200" default:"50"`
}

func writeCreated(w http.ResponseWriter, v any) {
	web.WriteJSON(w, http.StatusCreated, "application/json", v)
}
