// Package options lists the possible values of inputs from the sources that authors name: lists,
// queries over the project, HTTP endpoints and the outputs of workflows. docs/launch-forms.md describes them.
package options

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/data/outgoing"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// Limits of lists.
const (
	DefaultPage = 20
	MaxPage     = 200
	maxOptions  = 10_000 // of one answer
	maxScanned  = 5_000  // rows that a query reads
)

// Config contains the dependencies of the service.
type Config struct {
	Index     *index.Service
	Catalogue *catalogue.Service
	Artifacts *artifact.Service
	Hosts     []string // of endpoints that the installation allows
	Dialer    outgoing.Dialer
	Log       *slog.Logger
	Now       func() time.Time
}

// Service lists options. It is safe for concurrent use.
type Service struct {
	config Config
	web    *web
	runs   *runs // nil: no workflow lists options
}

// New returns the service.
func New(c Config) *Service {
	return &Service{config: c, web: newWeb(c)}
}

// Option is one possible value of an input.
type Option struct {
	Value       any // as the input has it
	Label       string
	Description string
	Preview     []Fact
}

// Fact is a name and a value that help to choose.
type Fact struct {
	Name, Value string
}

// contains reports whether a text is in what users see of the option.
func (o Option) contains(text string) bool {
	if text == "" {
		return true
	}
	text = strings.ToLower(text)
	for _, part := range []string{o.text(), o.Label, o.Description} {
		if strings.Contains(strings.ToLower(part), text) {
			return true
		}
	}
	return slices.ContainsFunc(o.Preview, func(f Fact) bool { return strings.Contains(strings.ToLower(f.Value), text) })
}

// text is the value as a control contains it.
func (o Option) text() string { return fmt.Sprint(o.Value) }

// Request is a request for options of an input. Input is a path as in
// [typeregistry.Field.EachSource], and Inputs are the known values of the other inputs.
type Request struct {
	Input  string
	Inputs map[string]any
	Query  string
	After  string // Page.Next of the page before
	Limit  int    // DefaultPage when 0

	Refresh bool // fetches or computes the list again instead of using a kept one
}

// Page is a part of the options of an input.
type Page struct {
	Options []Option
	Next    string // "" at the end
	Free    bool   // other values are possible, too
	At      time.Time
	Stale   bool   // newer options are being fetched, because At is longer ago than the source allows or on request
	Note    string // what the options leave out, or why they are stale; sentences

	Unrefreshed bool      // the last refresh failed, so newer options are not on the way
	FailedRun   uuid.UUID // the execution of that refresh, if a workflow lists the options
}

// list contains the options of a source.
type list struct {
	options []Option
	at      time.Time
	stale   bool
	note    string

	unrefreshed bool // the last refresh failed
	failedRun   uuid.UUID
}

// List returns options of an input of a version, for callers who may launch it. It returns NotFound
// for an input without a source, Invalid if an input that the source reads has no value, and
// Unavailable if the source does not respond.
func (s *Service) List(ctx context.Context, v workflow.Version, r Request) (Page, error) {
	subject, err := auth.AuthorizeIn(ctx, auth.ExecutionLaunch, v.ProjectID, apperr.New(apperr.NotFound, "There is no workflow %q.", v.Name))
	if err != nil {
		return Page{}, err
	}
	subject.TenantID, subject.ProjectID = v.TenantID, v.ProjectID
	ctx = auth.WithSubject(ctx, subject)
	if r.Refresh {
		ctx = context.WithValue(ctx, refresh{}, true)
	}
	part, ok := v.Definition.Inputs.SourceAt(r.Input)
	if !ok {
		return Page{}, apperr.New(apperr.NotFound, "The input %q of %s %s has no option source.", r.Input, v.Name, v.Version)
	}
	from, err := decodeMark(r.After)
	if err != nil {
		return Page{}, err
	}
	source, err := part.Source.Resolve(v.Definition.Inputs.Known(r.Inputs, s.config.Now()), r.Query)
	if err != nil {
		return Page{}, err
	}
	found, err := s.offered(ctx, source, part)
	if err != nil {
		return Page{}, err
	}
	if !part.Source.Searches() {
		found.options = matching(found.options, strings.TrimSpace(r.Query))
	}
	page := cut(found, from, r.Limit)
	page.Free = part.Source.Free
	return page, nil
}

// refresh marks the context of a request that must not use a cached list.
type refresh struct{}

func refreshes(ctx context.Context) bool { return ctx.Value(refresh{}) != nil }

// offered returns all options of the source of a field.
func (s *Service) offered(ctx context.Context, source typeregistry.Resolved, of typeregistry.Field) (list, error) {
	t := typeregistry.SourceLeaf(of.Type)
	switch {
	case source.Static():
		return static(source.Source), nil
	case source.From != "":
		return s.selected(ctx, source, t)
	case source.Workflow != "":
		return s.answered(ctx, source, of.Name, t)
	}
	return s.fetched(ctx, source, t)
}

func static(source *typeregistry.Source) list {
	out := list{options: make([]Option, len(source.Values))}
	for i, v := range source.Values {
		out.options[i] = Option{Value: v.Value, Label: v.Label, Description: v.Description}
	}
	return out
}

func matching(all []Option, text string) []Option {
	if text == "" {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(o Option) bool { return !o.contains(text) })
}

// cut returns the page of a list that begins at an option.
func cut(l list, from, limit int) Page {
	if limit <= 0 {
		limit = DefaultPage
	}
	limit = min(limit, MaxPage)
	page := Page{At: l.at, Stale: l.stale, Note: l.note, Unrefreshed: l.unrefreshed, FailedRun: l.failedRun}
	from = min(from, len(l.options))
	to := min(from+limit, len(l.options))
	page.Options = l.options[from:to]
	if to < len(l.options) {
		page.Next = encodeMark(to)
	}
	return page
}

func encodeMark(at int) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(at)))
}

func decodeMark(mark string) (int, error) {
	if mark == "" {
		return 0, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(mark)
	at, err2 := strconv.Atoi(string(raw))
	if err != nil || err2 != nil || at < 0 || at > maxOptions {
		return 0, apperr.InvalidFields("The page token is not valid.", []apperr.Field{{Path: "after", Message: "Use next from the previous response."}})
	}
	return at, nil
}

// refusal is the message for a value that is not an option.
func refusal(v any, l list) string {
	text := typeregistry.Quote(v) + " is not an option."
	switch {
	case len(l.options) == 0:
		return text + " Choose one from the list."
	case len(l.options) <= 8:
		names := make([]string, len(l.options))
		for i, o := range l.options {
			names[i] = o.text()
		}
		return text + " Choose " + typeregistry.Listed(names) + "."
	}
	return text + " Choose one of the " + strconv.Itoa(len(l.options)) + " options."
}
