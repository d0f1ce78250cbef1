package catalogue

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/search"
	"github.com/flowforge/flowforge/typeregistry"
)

// Filter selects entries of one kind; empty fields select all.
type Filter struct {
	Kind      typeregistry.Kind
	Query     string // text in name or description, or a tag
	Where     string // a query over facts and metadata, such as metadata.accuracy >= 0.9; Search ignores it
	Format    string // entries of this format, or of none
	Framework string // entries of this framework, or of none
	After     string // Page.Next of the previous page
	Limit     int    // 1 to 200; 50 when 0
}

// Page is a part of a list; Next is "" at its end.
type Page struct {
	Entries []Entry
	Next    string
}

const (
	defaultLimit = 50
	maxLimit     = 200
)

// List returns registered entries, newest first.
func (s *Service) List(ctx context.Context, f Filter) (Page, error) {
	subject, err := auth.Authorize(ctx, auth.CatalogueRead)
	if err != nil {
		return Page{}, err
	}
	before := uuid.Max
	if f.After != "" {
		if before, err = uuid.Parse(f.After); err != nil {
			return Page{}, apperr.InvalidFields("The page token is not valid.", []apperr.Field{{Path: "page", Message: "Use next_page from the previous response."}})
		}
	}
	condition, err := search.Condition(f.Where, search.EntryFields(), []string{"name", "version"}, s.now())
	if err != nil {
		return Page{}, apperr.InvalidFields("The catalogue query is not valid.", []apperr.Field{{Path: "where", Message: err.Error()}})
	}
	limit := f.limit()
	entries, err := s.registeredEntries(ctx, db.SearchCatalogueParams{ProjectID: subject.ProjectID, Before: before, Condition: condition, RowLimit: limit + 1}, f)
	if err != nil {
		return Page{}, err
	}
	page := Page{Entries: entries}
	if len(entries) > int(limit) {
		page.Entries = entries[:limit]
		page.Next = entries[limit-1].ID.String()
	}
	return page, nil
}

func (f Filter) limit() int32 {
	if f.Limit <= 0 {
		return defaultLimit
	}
	return int32(min(f.Limit, maxLimit))
}

func (s *Service) registeredEntries(ctx context.Context, params db.SearchCatalogueParams, f Filter) ([]Entry, error) {
	params.Kind, params.Format, params.Framework, params.Query = string(f.Kind), f.Format, f.Framework, db.EscapeLike(f.Query)
	rows, err := db.New(s.pool).SearchCatalogue(ctx, params)
	if err != nil {
		return nil, fmt.Errorf("search the catalogue: %w", err)
	}
	var entries []Entry
	for _, row := range rows {
		e, err := fromRow(row)
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// Search returns the suggestions of a form for typed text: registered entries, those
// whose name begins with it first, then outputs of earlier executions, newest first. It
// has one page: After is ignored.
func (s *Service) Search(ctx context.Context, f Filter) ([]Entry, error) {
	subject, err := auth.Authorize(ctx, auth.CatalogueRead)
	if err != nil {
		return nil, err
	}
	limit := f.limit()
	entries, err := s.registeredEntries(ctx, db.SearchCatalogueParams{
		ProjectID: subject.ProjectID, Before: uuid.Max, Ranked: f.Query != "", RowLimit: limit,
	}, f)
	if err != nil {
		return nil, err
	}
	if left := int(limit) - len(entries); left > 0 {
		rows, err := db.New(s.pool).ListArtifacts(ctx, db.ListArtifactsParams{
			ProjectID: subject.ProjectID, Before: uuid.Max, Kind: string(f.Kind), Query: db.EscapeLike(f.Query), RowLimit: int32(left), //nolint:gosec // at most maxLimit
		})
		if err != nil {
			return nil, fmt.Errorf("search earlier outputs: %w", err)
		}
		for _, row := range rows {
			entries = append(entries, fromArtifact(row))
		}
	}
	return entries, nil
}

func fromArtifact(row db.Artifact) Entry {
	id := row.ID
	return Entry{
		ID: row.ID, Kind: typeregistry.Kind(row.Kind), Name: row.WorkflowName + " · " + row.Name, Version: row.ExecutionID.String(),
		Description: "Output " + row.Name + " of " + row.Node, Tags: []string{}, ArtifactID: &id, ExecutionID: row.ExecutionID, CreatedAt: row.CreatedAt,
		Blob: &BlobRef{SHA256: hex.EncodeToString(row.Sha256), Size: row.Size, MediaType: row.MediaType, Filename: row.Filename},
	}
}

// Get returns the entry that ref identifies in the current project: "name@version",
// "name@<alias>", "name" for the newest version, of a model also "name@production" or
// "name@staging", or the id of an artifact of kind. Else it is apperr.NotFound.
func (s *Service) Get(ctx context.Context, kind typeregistry.Kind, ref string) (Entry, error) {
	subject, err := auth.Authorize(ctx, auth.CatalogueRead)
	if err != nil {
		return Entry{}, err
	}
	missing := apperr.New(apperr.NotFound, "There is no %s %q.", kind, ref)
	if id, err := uuid.Parse(ref); err == nil {
		row, err := db.New(s.pool).GetArtifact(ctx, id)
		if db.IsNoRows(err) || (err == nil && (row.ProjectID != subject.ProjectID || row.Kind != string(kind))) {
			return Entry{}, missing
		}
		if err != nil {
			return Entry{}, fmt.Errorf("get artifact %s: %w", ref, err)
		}
		return fromArtifact(row), nil
	}
	name, version := SplitRef(ref)
	row, err := db.New(s.pool).GetCatalogueEntry(ctx, subject.ProjectID, string(kind), name, version)
	if db.IsNoRows(err) && kind == typeregistry.KindModel && version != "" {
		row, err = db.New(s.pool).ResolveModel(ctx, version, name, subject.ProjectID)
	} else if db.IsNoRows(err) && version != "" {
		row, err = db.New(s.pool).ResolveDataset(ctx, subject.ProjectID, string(kind), name, version)
	}
	if db.IsNoRows(err) {
		return Entry{}, missing
	}
	if err != nil {
		return Entry{}, fmt.Errorf("get %s %s: %w", kind, ref, err)
	}
	return fromRow(row)
}

// Pin returns the entry that ref identifies now, and the reference to its version.
func (s *Service) Pin(ctx context.Context, kind typeregistry.Kind, ref string) (uuid.UUID, string, error) {
	e, err := s.Get(ctx, kind, ref)
	return e.ID, e.Ref(), err
}

// Exists reports whether ref identifies an entry of kind that the caller may use. The error is a
// lookup that failed, and so tells nothing.
func (s *Service) Exists(ctx context.Context, kind typeregistry.Kind, ref string) (bool, error) {
	_, err := s.Get(ctx, kind, ref)
	switch apperr.CodeOf(err) { //nolint:exhaustive // the others are failures
	case "":
		return true, nil
	case apperr.Invalid, apperr.NotFound, apperr.Forbidden, apperr.Unauthenticated:
		return false, nil
	}
	return false, err
}

// Blob returns the bytes behind ref. An entry whose bytes are elsewhere is
// apperr.Invalid.
func (s *Service) Blob(ctx context.Context, kind typeregistry.Kind, ref string) (BlobRef, error) {
	e, err := s.Get(ctx, kind, ref)
	if err != nil {
		return BlobRef{}, err
	}
	if e.Blob == nil {
		return BlobRef{}, apperr.New(apperr.Invalid, "%s %s is registered without a file, so it cannot be the input of a node.", kind, ref)
	}
	return *e.Blob, nil
}

// Feature is one feature with the set that it belongs to.
type Feature struct {
	typeregistry.Column

	FeatureSet string `json:"feature_set"` // name@version
}

// MarshalJSON writes feature_set alongside the fields of the column.
func (f Feature) MarshalJSON() ([]byte, error) {
	c := f.Column
	if c.Attributes = maps.Clone(c.Attributes); c.Attributes == nil {
		c.Attributes = map[string]any{}
	}
	c.Attributes["feature_set"] = f.FeatureSet
	return c.MarshalJSON() //nolint:wrapcheck // the error names the column
}

// Features returns the features of the newest feature sets whose name holds text.
func (s *Service) Features(ctx context.Context, text string, limit int) ([]Feature, error) {
	page, err := s.List(ctx, Filter{Kind: typeregistry.KindFeatureSet, Limit: maxLimit})
	if err != nil {
		return nil, err
	}
	limit = min(limit, maxLimit)
	features, seen := []Feature{}, map[string]bool{}
	for _, e := range page.Entries {
		if seen[e.Name] { // an older version
			continue
		}
		seen[e.Name] = true
		for _, f := range e.Facts.Features {
			if len(features) < limit && strings.Contains(strings.ToLower(f.Name), strings.ToLower(text)) {
				features = append(features, Feature{Column: f, FeatureSet: e.Ref()})
			}
		}
	}
	return features, nil
}
