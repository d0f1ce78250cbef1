package catalogue

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/typeregistry"
)

// fromArtifact fills in an entry from the artifact that it is registered from: its bytes, and the
// metadata, framework and metrics that the task set and the entry does not.
func (s *Service) fromArtifact(ctx context.Context, e *Entry, project uuid.UUID) error {
	if e.From == nil {
		return nil
	}
	refuse := func(message string) error {
		return apperr.InvalidFields("The entry has invalid values.", []apperr.Field{{Path: "artifact", Message: message}})
	}
	row, err := db.New(s.pool).GetArtifact(ctx, *e.From)
	if db.IsNoRows(err) || err == nil && row.ProjectID != project {
		return refuse("There is no artifact " + e.From.String() + " in this project.")
	}
	if err != nil {
		return fmt.Errorf("get artifact %s: %w", e.From, err)
	}
	if row.Kind != string(e.Kind) && !(row.Kind == string(typeregistry.KindTable) && e.Kind == typeregistry.KindDataset) {
		return refuse(fmt.Sprintf("The artifact is a %s. Choose a %s.", row.Kind, e.Kind))
	}
	blob := &BlobRef{SHA256: hex.EncodeToString(row.Sha256), Size: row.Size, MediaType: row.MediaType, Filename: row.Filename}
	if e.Blob != nil && e.Blob.SHA256 != blob.SHA256 {
		return refuse("The artifact and file have different bytes. Send only one of the two.")
	}
	e.Blob = blob
	var metadata map[string]any
	if err := json.Unmarshal(row.Metadata, &metadata); err != nil {
		return fmt.Errorf("metadata of artifact %s: %w", e.From, err)
	}
	e.takeMetadata(metadata)
	return nil
}

// takeMetadata adds what a task said about an artifact. Values of the entry come first.
func (e *Entry) takeMetadata(metadata map[string]any) {
	if text, ok := metadata["framework"].(string); ok && e.Framework == "" {
		e.Framework = text
	}
	if tags, ok := metadata["tags"].([]any); ok {
		for _, tag := range tags {
			if text, ok := tag.(string); ok && !slices.Contains(e.Tags, text) {
				e.Tags = append(e.Tags, text)
			}
		}
	}
	all := maps.Clone(metadata)
	maps.Copy(all, e.Facts.Metadata)
	if len(all) > 0 {
		e.Facts.Metadata = all
	}
}

// Metrics returns the metrics of a model: those of its registration, and numbers in its metadata.
func (e Entry) Metrics() map[string]float64 {
	out := map[string]float64{}
	for _, part := range []any{e.Facts.Metadata, e.Facts.Metadata["metrics"]} {
		values, _ := part.(map[string]any)
		for name, v := range values {
			if n, ok := v.(float64); ok {
				out[name] = n
			}
		}
	}
	maps.Copy(out, e.Facts.Metrics)
	return out
}

// TestSet returns what the metrics of a model were measured on; "" if it is unknown.
func (e Entry) TestSet() string {
	if text, ok := e.Facts.Metadata["test_set"].(string); ok && e.Facts.TestSet == "" {
		return text
	}
	return e.Facts.TestSet
}

// FromRow returns the entry of a row.
func FromRow(row db.CatalogueEntry) (Entry, error) { return fromRow(row) }
