// Package model compares two versions of a registered model: their metrics and signatures, the inputs
// and the code of the executions that produced them, and what they were made from.
package model

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/data/registry"
	"github.com/flowforge/flowforge/engine/comparison"
	"github.com/flowforge/flowforge/engine/comparison/sheet"
	"github.com/flowforge/flowforge/engine/lineage"
)

// Config contains the services that a comparison reads.
type Config struct {
	Registry   *registry.Service
	Comparison *comparison.Service
	Lineage    *lineage.Service
}

// Service compares versions of models. It is safe for concurrent use.
type Service struct{ Config }

// New returns a Service.
func New(c Config) *Service { return &Service{c} }

// Comparison is a version of a model next to the one that it is compared with. Of each pair of values,
// the first one belongs to Against and the second one to Version.
type Comparison struct {
	Version   registry.Version
	Against   *registry.Version // nil: there is no version to compare with, so that only Metrics are set
	Metrics   []registry.MetricRow
	Signature []string     // how the signature changed, in sentences
	MadeBy    [2]uuid.UUID // the executions that produced both versions; uuid.Nil: unknown
	Inputs    Inputs
	Sources   Sources
}

// Inputs are the differences between the executions that produced both versions: in inputs, in the
// version of the workflow and in code.
type Inputs struct {
	Rows []sheet.Row // those that differ
	Same int         // the number of equal values
	Note string      // why there is nothing to compare, or ""
}

// Compare compares two versions of a model, named by version, stage or alias. The default of version is
// the newest one. The default of against is the version in production or, if that is version itself or
// none is in production, the one registered before version. The error NotFound names the field.
func (s *Service) Compare(ctx context.Context, name, version, against string) (Comparison, error) {
	if _, err := auth.Authorize(ctx, auth.CatalogueRead); err != nil {
		return Comparison{}, err
	}
	m, err := s.Registry.Get(ctx, name, "")
	if err != nil {
		return Comparison{}, absent(err, "name")
	}
	chosen := &m.Versions[0]
	if version != "" {
		if chosen, err = s.Find(ctx, m, version); err != nil {
			return Comparison{}, err
		}
	}
	c, err := s.Of(ctx, m, *chosen, against)
	if err == nil && c.Against == nil {
		return c, apperr.InvalidFields("Two versions are required.", []apperr.Field{{Path: "against", Message: "Enter another version than " + c.Version.Version + "."}})
	}
	return c, err
}

// Find is the version of a model that a version, a stage or an alias names, on any page of its list.
func (s *Service) Find(ctx context.Context, m registry.Model, version string) (*registry.Version, error) {
	if _, err := auth.Authorize(ctx, auth.CatalogueRead); err != nil {
		return nil, err
	}
	return s.find(ctx, m, version, "version")
}

func (s *Service) find(ctx context.Context, m registry.Model, version, field string) (*registry.Version, error) {
	if i := slices.IndexFunc(m.Versions, func(v registry.Version) bool { return v.Version == version }); i >= 0 {
		return &m.Versions[i], nil
	}
	if p := m.Production; p != nil && p.Version == version {
		return p, nil
	}
	v, err := s.Registry.Version(ctx, m.Name, version)
	return &v, absent(err, field)
}

// absent adds the field to an error about a model or a version that does not exist.
func absent(err error, field string) error {
	if !apperr.Is(err, apperr.NotFound) {
		return err
	}
	text := apperr.MessageOf(err)
	return &apperr.Error{Code: apperr.NotFound, Message: text, Fields: []apperr.Field{{Path: field, Message: text}}}
}

// Of compares a version of m with another one, as Compare does.
func (s *Service) Of(ctx context.Context, m registry.Model, version registry.Version, against string) (Comparison, error) {
	if _, err := auth.Authorize(ctx, auth.CatalogueRead); err != nil {
		return Comparison{}, err
	}
	c := Comparison{Version: version}
	var err error
	if c.Against, err = s.against(ctx, m, version, against); err != nil {
		return c, err
	}
	if c.Against == nil {
		c.Metrics = registry.Compare(catalogue.Entry{}, version.Entry, m.Policy.Rules)
		return c, nil
	}
	c.Metrics = registry.Compare(c.Against.Entry, version.Entry, m.Policy.Rules)
	c.Signature = registry.SignatureChanges(c.Against.Entry, version.Entry)
	for i, v := range []*registry.Version{c.Against, &version} {
		if c.MadeBy[i], err = s.Registry.MadeBy(ctx, v.Entry); err != nil {
			return c, err
		}
	}
	if c.Inputs, err = s.inputs(ctx, c.MadeBy); err != nil {
		return c, err
	}
	c.Sources, err = s.sources(ctx, m.Name, *c.Against, version)
	return c, err
}

// against selects the version to compare with; nil if there is none.
func (s *Service) against(ctx context.Context, m registry.Model, version registry.Version, name string) (*registry.Version, error) {
	if name != "" {
		v, err := s.find(ctx, m, name, "against")
		if err != nil || v.ID == version.ID {
			return nil, err
		}
		return v, nil
	}
	if p := m.Production; p != nil && p.ID != version.ID {
		return p, nil
	}
	if older := slices.IndexFunc(m.Versions, func(v registry.Version) bool { return v.ID == version.ID }) + 1; older > 0 && older < len(m.Versions) {
		return &m.Versions[older], nil
	}
	return nil, nil //nolint:nilnil // there is no version to compare with
}

// inputs compares the executions. There are no differences without two executions that the caller may
// read.
func (s *Service) inputs(ctx context.Context, madeBy [2]uuid.UUID) (Inputs, error) {
	before, now := madeBy[0], madeBy[1]
	switch {
	case before == uuid.Nil || now == uuid.Nil:
		return Inputs{Note: "Not available: at least one version has no recorded execution."}, nil
	case before == now:
		return Inputs{Note: "The same execution produced both versions."}, nil
	}
	compared, err := s.Comparison.Compare(ctx, []string{before.String(), now.String()}, "")
	if code := apperr.CodeOf(err); code == apperr.NotFound || code == apperr.Forbidden || code == apperr.Unavailable {
		return Inputs{Note: apperr.MessageOf(err)}, nil
	}
	if err != nil {
		return Inputs{}, err
	}
	var in Inputs
	for _, row := range compared.Rows {
		switch {
		case !slices.Contains([]sheet.Section{sheet.Inputs, sheet.Definition, sheet.Code}, row.Section):
		case row.Differs:
			in.Rows = append(in.Rows, row)
		default:
			in.Same++
		}
	}
	return in, nil
}
