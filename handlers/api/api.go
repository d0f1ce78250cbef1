// Package api is the JSON API: operations below /api/v1, described by OpenAPI 3.1.
// An operation reads the request, calls a service and answers; it decides nothing.
package api

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/access/identity"
	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/access/secretstore"
	"github.com/flowforge/flowforge/access/tenancy"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/pool"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/data/dataset"
	"github.com/flowforge/flowforge/data/metaflow/datastore"
	"github.com/flowforge/flowforge/data/registry"
	"github.com/flowforge/flowforge/data/report"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/data/view"
	"github.com/flowforge/flowforge/engine/backfill"
	"github.com/flowforge/flowforge/engine/comparison"
	"github.com/flowforge/flowforge/engine/comparison/model"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/feed"
	"github.com/flowforge/flowforge/engine/feed/consumer"
	"github.com/flowforge/flowforge/engine/inbox"
	"github.com/flowforge/flowforge/engine/lineage"
	"github.com/flowforge/flowforge/engine/notify"
	"github.com/flowforge/flowforge/engine/options"
	"github.com/flowforge/flowforge/engine/preset"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/retention"
	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/trigger"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/handlers/source"
	"github.com/flowforge/flowforge/platform/release"
	"github.com/flowforge/flowforge/web"

	"github.com/flowforge/flowforge/handlers/content"
	"github.com/flowforge/flowforge/handlers/leader"
	"github.com/flowforge/flowforge/handlers/table"
)

// apiError is an error of ours in the form that huma writes.
type apiError struct{ web.Problem }

func (p *apiError) Error() string                { return p.Detail }
func (p *apiError) GetStatus() int               { return p.Status }
func (p *apiError) ContentType(string) string    { return "application/problem+json" }
func (p *apiError) MarshalJSON() ([]byte, error) { return json.Marshal(p.Problem) }
func (p *apiError) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[web.Problem](), true, "Problem")
}

// problemFromHuma converts the problems that huma finds in a request to our format, with the
// path of each value as the caller wrote it.
func problemFromHuma(ctx huma.Context, status int, message string, errs ...error) huma.StatusError {
	code := apperr.Invalid
	switch status {
	case http.StatusUnauthorized:
		code = apperr.Unauthenticated
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		code = apperr.NotFound
	case http.StatusUnprocessableEntity, http.StatusBadRequest:
		status = http.StatusUnprocessableEntity
		message = "The request has invalid values."
	case http.StatusRequestEntityTooLarge:
		message = "The request body is larger than this operation accepts."
	case http.StatusUnsupportedMediaType:
		message = "The media type of the request body is not supported: send application/json."
		errs = nil
	case http.StatusRequestTimeout:
		message = "The request body arrived too slowly. Send it again."
	case http.StatusInternalServerError: // the client closed the connection
		status, message, errs = http.StatusUnprocessableEntity, "The request body ended early. Send it again.", nil
	}
	p := &apiError{web.Problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: message, Code: code, Errors: fieldsFromHuma(errs),
	}.Named()}
	if ctx != nil {
		p.RequestID = web.RequestID(ctx.Context())
	}
	return p
}

func fieldsFromHuma(errs []error) []apperr.Field {
	var fields []apperr.Field
	for _, err := range errs {
		var d huma.ErrorDetailer
		if errors.As(err, &d) {
			detail := d.ErrorDetail()
			path := detail.Location
			for _, place := range []string{"body.", "query.", "path.", "header."} {
				path = strings.TrimPrefix(path, place)
			}
			fields = append(fields, named(apperr.Field{Path: path, Message: parameterMessage(detail.Message)}))
		} else if err != nil {
			fields = append(fields, apperr.Field{Path: "body", Message: err.Error()})
		}
	}
	return fields
}

// named returns the path of a missing property: huma reports the missing property at the object
// that contains it.
func named(f apperr.Field) apperr.Field {
	name, missing := strings.CutPrefix(f.Message, requiredPrefix)
	if !missing {
		return f
	}
	name = strings.TrimSuffix(name, requiredSuffix)
	if f.Path != "body" {
		name = f.Path + "." + name
	}
	return apperr.Field{Path: name, Message: "Enter a value: it is required."}
}

// renamed returns err with another path for a field, because the service that reports it uses a
// different name than the request.
func renamed(err error, service, request string) error {
	problem, ok := errors.AsType[*apperr.Error](err)
	if !ok {
		return err
	}
	out := *problem
	out.Fields = slices.Clone(problem.Fields)
	for i := range out.Fields {
		if out.Fields[i].Path == service {
			out.Fields[i].Path = request
		}
	}
	return &out
}

// humaErrors replaces huma's package-wide error constructors and messages with ours, once.
//
//nolint:gochecknoglobals // guards globals of another package
var humaErrors = sync.OnceFunc(func() {
	setMessages()
	huma.NewErrorWithContext = problemFromHuma
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		return problemFromHuma(nil, status, message, errs...)
	}
})

// Config holds the services that the API calls.
type Config struct {
	Log       *slog.Logger
	Now       func() time.Time
	Site      *web.Site
	Links     *auth.LoginLinks
	Identity  *identity.Service
	Policies  *auth.Policies
	PublicURL string // address of this server for browsers; "" takes the host of the request

	Workflows     *workflow.Service
	Executions    *execution.Service
	Artifacts     *artifact.Service
	Catalogue     *catalogue.Service
	Telemetry     *telemetry.Service
	Datastores    *datastore.Service // of Metaflow
	Table         *table.Service
	Secrets       *secret.Service
	SecretStores  *secretstore.Service
	Connections   *connection.Service
	Pools         *pool.Service
	Tenancy       *tenancy.Service
	Audit         *audit.Log
	Quotas        *quota.Service
	Retention     *retention.Service
	Presets       *preset.Service
	Options       *options.Service
	Sweeps        *sweep.Service
	Schedules     *schedule.Service
	Backfills     *backfill.Service
	Inbox         *inbox.Service
	Notifications *notify.Service
	Triggers      *trigger.Service
	Feed          *feed.Service
	Consumers     *consumer.Service // of the feed
	Views         *view.Service
	Reports       *report.Service
	Lineage       *lineage.Service
	Registry      *registry.Service
	Datasets      *dataset.Service
	Comparison    *comparison.Service
	Models        *model.Service // compares versions

	Scope    request.Scope
	Content  *content.Content
	Packages source.Packages
	Leader   *leader.Routes
}

// API is the JSON API. It is safe for concurrent use.
type API struct{ Config }

// New returns the JSON API.
func New(c Config) *API { return &API{c} }

// Mount adds every route of the API to r, which has authenticated its callers.
func (h *API) Mount(r chi.Router) {
	h.newAPI(r)
	for _, one := range h.resources() {
		if plain, ok := one.(router); ok {
			plain.routes(r)
		}
	}
}

// newAPI mounts the JSON API below request.APIPrefix and returns its description.
func (h *API) newAPI(r chi.Router) huma.API {
	humaErrors()
	config := huma.DefaultConfig("FlowForge", release.Version)
	config.Info.Description = "Register typed workflows, launch them, and read their logs, metrics and artifacts."
	config.OpenAPIPath = request.APIPrefix + "/openapi"
	config.SchemasPath = request.APIPrefix + "/schemas"
	config.DocsPath = ""
	config.CreateHooks = nil
	config.Components.Schemas = newSchemas()
	config.Formats = map[string]huma.Format{"application/json": jsonFormat(), "json": jsonFormat()}
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token": {Type: "http", Scheme: "bearer", Description: "An API key (ffk_…), a token of a configured OpenID provider, or on the server's own machine the content of admin.token."},
	}
	config.Security = []map[string][]string{{"token": {}}}
	api := humachi.New(r, config)
	api.UseMiddleware(signedIn(api), h.inScope)
	mounted := &operations{API: api, log: h.Log, leader: h.Leader}
	for _, one := range h.resources() {
		one.mount(mounted)
	}
	describeRoutes(api)
	return api
}

// signedIn answers 401 to a request without a caller, before its body is read. The services
// decide what a caller may do.
func signedIn(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		if _, ok := auth.SubjectOf(ctx.Context()); ok {
			next(ctx)
			return
		}
		err := apperr.New(apperr.Unauthenticated, "Send an API key as \"Authorization: Bearer …\", or sign in.")
		_ = huma.WriteErr(api, ctx, http.StatusUnauthorized, err.Message) // the reader may have gone away
	}
}

// inScope selects the project for the operations of the API.
func (h *API) inScope(ctx huma.Context, next func(huma.Context)) {
	r, _ := humachi.Unwrap(ctx)
	next(huma.WithContext(ctx, h.Scope.Of(r).Context()))
}

// body is an answer with a JSON body.
type body[T any] struct{ Body T }

func reply[T any](v T) *body[T] { return &body[T]{Body: v} }

// PageQuery selects a page of a list by the cursor of the previous page.
type PageQuery struct {
	Page  string `query:"page" doc:"Cursor: next_page from the previous response" maxLength:"400"`
	Limit int    `query:"limit" doc:"Number of rows per page" minimum:"1" maximum:"200" default:"50"`
}

func writeCreated(w http.ResponseWriter, v any) {
	web.WriteJSON(w, http.StatusCreated, "application/json", v)
}
