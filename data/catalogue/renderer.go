package catalogue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/typeregistry"
)

// MaxRenderer is the maximum size of the page that shows the values of a type, in bytes.
const MaxRenderer = 512 << 10

// takePage replaces the text of the page in def by its hash. It returns nil for a type without one.
func takePage(def *typeregistry.CustomType) (*typeregistry.Renderer, error) {
	invalid := func(message string) error {
		return apperr.InvalidFields("The type has invalid values.", []apperr.Field{{Path: "ui_renderer", Message: message}})
	}
	r, err := def.Renderer()
	if err != nil {
		return nil, invalid(err.Error() + ".")
	}
	if r.HTML == "" {
		return nil, nil //nolint:nilnil // no page
	}
	if len(r.HTML) > MaxRenderer {
		return nil, invalid(fmt.Sprintf("The page has %d bytes; at most %d KiB are allowed.", len(r.HTML), MaxRenderer>>10))
	}
	sum := sha256.Sum256([]byte(r.HTML))
	r.File = "sha256:" + hex.EncodeToString(sum[:])
	def.UIRenderer = map[string]any{"file": r.File, "inputs": r.Inputs}
	return &r, nil
}

// RendererPage returns the page that shows values of a custom type of the caller's tenant, or
// apperr.NotFound.
func (s *Service) RendererPage(ctx context.Context, name string) (string, error) {
	subject, err := auth.Authorize(ctx, auth.TypeRead)
	if err != nil {
		return "", err
	}
	row, err := db.New(s.pool).GetTypeRenderer(ctx, subject.TenantID, name)
	if db.IsNoRows(err) {
		return "", apperr.New(apperr.NotFound, "The type %q has no page to show its values.", name)
	}
	if err != nil {
		return "", fmt.Errorf("page of type %s: %w", name, err)
	}
	return row.Html, nil
}
