package catalogue

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/typeregistry"
)

// builtRegistry is a registry with the definitions that it was built from.
type builtRegistry struct {
	definitions []byte
	registry    *typeregistry.Registry
}

// Types returns the registry of the caller's tenant: the built-in types and the
// custom ones.
func (s *Service) Types(ctx context.Context) (*typeregistry.Registry, error) {
	subject, err := auth.Authorize(ctx, auth.TypeRead)
	if err != nil {
		return nil, err
	}
	return s.types(ctx, db.New(s.pool), subject.TenantID)
}

func (s *Service) types(ctx context.Context, q *db.Queries, tenant uuid.UUID) (*typeregistry.Registry, error) {
	rows, err := q.ListCustomTypes(ctx, tenant)
	if err != nil {
		return nil, fmt.Errorf("list custom types: %w", err)
	}
	definitions := joined(rows)
	s.mu.Lock()
	built, ok := s.registries[tenant]
	s.mu.Unlock()
	if ok && bytes.Equal(built.definitions, definitions) {
		return built.registry, nil
	}
	defs := make([]typeregistry.CustomType, 0, len(rows))
	for _, row := range rows {
		def, err := typeregistry.UnmarshalCustomType(row)
		if err != nil {
			return nil, fmt.Errorf("custom type: %w", err)
		}
		defs = append(defs, def)
	}
	registry, problems := typeregistry.Builtin().With(defs...)
	if len(problems) > 0 {
		return nil, fmt.Errorf("custom types: %s: %s", problems[0].Path, problems[0].Message)
	}
	s.mu.Lock()
	s.registries[tenant] = builtRegistry{definitions: definitions, registry: registry}
	s.mu.Unlock()
	return registry, nil
}

func joined(rows []json.RawMessage) []byte {
	var b bytes.Buffer
	for _, row := range rows {
		b.Write(row)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// RegisterType adds a custom type from its JSON definition. Types never change:
// the same definition again is a success, another one of that name
// apperr.Conflict.
func (s *Service) RegisterType(ctx context.Context, definition []byte) (entry typeregistry.Entry, created bool, err error) {
	subject, err := authorizeTenant(ctx, auth.TypeWrite)
	if err != nil {
		return typeregistry.Entry{}, false, err
	}
	def, err := typeregistry.UnmarshalCustomType(definition)
	if err != nil {
		return typeregistry.Entry{}, false, apperr.Wrap(apperr.Invalid, err, "The definition of the type is not valid: "+err.Error())
	}
	page, err := takePage(&def)
	if err != nil {
		return typeregistry.Entry{}, false, err
	}
	canonical, err := json.Marshal(def)
	if err != nil {
		return typeregistry.Entry{}, false, fmt.Errorf("type %s: %w", def.Name, err)
	}
	err = db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		entry, created, err = s.registerType(ctx, q, subject, def, page, canonical)
		if err != nil || !created || page == nil {
			return err
		}
		return q.InsertTypeRenderer(ctx, subject.TenantID, def.Name, page.File, page.HTML)
	})
	return entry, created, err
}

// authorizeTenant authorizes actions on the whole tenant of the current project: a role
// in the project alone is not sufficient.
func authorizeTenant(ctx context.Context, a auth.Action) (auth.Subject, error) {
	if subject, ok := auth.SubjectOf(ctx); ok {
		return auth.AuthorizeIn(ctx, a, subject.TenantID, apperr.New(apperr.Forbidden, "Types belong to the whole tenant. Ask a tenant administrator."))
	}
	return auth.SignedIn(ctx)
}

func (s *Service) registerType(ctx context.Context, q *db.Queries, subject auth.Subject, def typeregistry.CustomType, page *typeregistry.Renderer, canonical []byte) (typeregistry.Entry, bool, error) {
	if err := q.LockCustomTypes(ctx, subject.TenantID.String()); err != nil {
		return typeregistry.Entry{}, false, fmt.Errorf("lock custom types: %w", err)
	}
	registry, err := s.types(ctx, q, subject.TenantID)
	if err != nil {
		return typeregistry.Entry{}, false, err
	}
	if there, ok := registry.Lookup(def.Name); ok && there.Custom != nil {
		old, err := json.Marshal(there.Custom)
		if err != nil {
			return typeregistry.Entry{}, false, fmt.Errorf("type %s: %w", def.Name, err)
		}
		if bytes.Equal(old, canonical) {
			return there, false, nil
		}
		return typeregistry.Entry{}, false, apperr.New(apperr.Conflict, "The type %s is already registered with a different definition. Use another name for the new one.", def.Name)
	}
	if r, err := def.Renderer(); err == nil && r.File != "" && page == nil {
		return typeregistry.Entry{}, false, apperr.InvalidFields("The type has invalid values.", []apperr.Field{{Path: "ui_renderer", Message: "This server does not have the page " + r.File + ". Send its text as html."}})
	}
	wider, problems := registry.With(def)
	if len(problems) > 0 {
		return typeregistry.Entry{}, false, apperr.InvalidFields("The type has invalid values.", trimmed(problems))
	}
	if err := q.InsertCustomType(ctx, db.InsertCustomTypeParams{
		TenantID: subject.TenantID, Name: def.Name, Definition: canonical, CreatedBy: subject.Name, CreatedAt: s.now(),
	}); err != nil {
		return typeregistry.Entry{}, false, fmt.Errorf("insert type %s: %w", def.Name, err)
	}
	err = audit.Record(ctx, q, audit.Entry{
		Action: "type.register", Kind: "type", ID: def.Name, Name: def.Name, TenantID: subject.TenantID, New: json.RawMessage(canonical),
	})
	entry, _ := wider.Lookup(def.Name)
	return entry, true, err
}

// trimmed removes the list index from each path.
func trimmed(problems []apperr.Field) []apperr.Field {
	out := make([]apperr.Field, 0, len(problems))
	for _, p := range problems {
		_, path, ok := bytes.Cut([]byte(p.Path), []byte("."))
		if !ok {
			path = []byte("type_name")
		}
		out = append(out, apperr.Field{Path: string(path), Message: p.Message})
	}
	return out
}
