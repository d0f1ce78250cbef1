package dataset

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/typeregistry"
)

// aliasPattern is the form of aliases: that of versions, beginning with a letter.
var aliasPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._-]{0,59}$`)

func invalid(path, message string) error {
	return apperr.InvalidFields("The alias has invalid values.", []apperr.Field{{Path: path, Message: message}})
}

// SetAlias makes alias a name of a version. It moves the alias if another version has it.
func (s *Service) SetAlias(ctx context.Context, kind typeregistry.Kind, name, alias, version string) error {
	subject, err := auth.Authorize(ctx, auth.CatalogueWrite)
	if err != nil {
		return err
	}
	if !aliasPattern.MatchString(alias) {
		return invalid("alias", "Start with a letter; then letters, digits and . _ - are allowed, 60 characters at most.")
	}
	if slices.Contains([]string{"latest", "none"}, alias) {
		return invalid("alias", alias+" is reserved. Choose another name.")
	}
	if version == "" {
		return invalid("version", "Enter a version.")
	}
	e, err := s.entry(ctx, kind, name+"@"+version)
	if err != nil {
		return err
	}
	if _, err := s.queries.GetCatalogueEntry(ctx, subject.ProjectID, string(kind), name, alias); err == nil {
		return invalid("alias", "A version already has this name. Choose another name.")
	} else if !db.IsNoRows(err) {
		return fmt.Errorf("find version %s: %w", alias, err)
	}
	return db.Tx(ctx, s.Pool, func(_ pgx.Tx, q *db.Queries) error {
		before, err := q.SetDatasetAlias(ctx, db.SetDatasetAliasParams{
			ProjectID: subject.ProjectID, Kind: string(kind), Name: name, Alias: alias, EntryID: e.ID, SetBy: subject.Name, SetAt: s.Now(),
		})
		if err != nil {
			return fmt.Errorf("set alias %s of %s: %w", alias, name, err)
		}
		var old any
		if before != "" {
			old = map[string]any{"alias": alias, "version": before}
		}
		return audit.Record(ctx, q, audit.Entry{
			Action: "dataset.alias_set", Kind: string(kind), ID: e.ID.String(), Name: e.Ref(), TenantID: subject.TenantID, ProjectID: subject.ProjectID,
			Old: old, New: map[string]any{"alias": alias, "version": e.Version},
		})
	})
}

// RemoveAlias ends an alias.
func (s *Service) RemoveAlias(ctx context.Context, kind typeregistry.Kind, name, alias string) error {
	subject, err := auth.Authorize(ctx, auth.CatalogueWrite)
	if err != nil {
		return err
	}
	return db.Tx(ctx, s.Pool, func(_ pgx.Tx, q *db.Queries) error {
		id, err := q.UnsetDatasetAlias(ctx, subject.ProjectID, string(kind), name, alias)
		if db.IsNoRows(err) {
			return apperr.New(apperr.NotFound, "%s has no alias %q.", name, alias)
		}
		if err != nil {
			return fmt.Errorf("remove alias %s of %s: %w", alias, name, err)
		}
		return audit.Record(ctx, q, audit.Entry{
			Action: "dataset.alias_removed", Kind: string(kind), ID: id.String(), Name: name, TenantID: subject.TenantID, ProjectID: subject.ProjectID,
			Old: map[string]any{"alias": alias},
		})
	})
}
