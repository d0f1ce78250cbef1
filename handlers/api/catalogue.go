package api

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"reflect"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/data/registry"
	"github.com/flowforge/flowforge/handlers/content"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/typeregistry"
)

type entryInput struct {
	Name         string                `json:"name" pattern:"^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$" patternDescription:"letters, digits and . _ - /, beginning with a letter or a digit, at most 200"`
	Version      string                `json:"version" pattern:"^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$" patternDescription:"letters, digits and . _ + -, beginning with a letter or a digit, at most 100"`
	Description  string                `json:"description,omitempty" maxLength:"10000"`
	Format       string                `json:"format,omitempty" doc:"Format of a dataset, such as csv" maxLength:"100"`
	Framework    string                `json:"framework,omitempty" doc:"Framework of a model, such as pytorch" maxLength:"100"`
	Architecture string                `json:"architecture,omitempty" maxLength:"200"`
	Inputs       []typeregistry.Column `json:"input_schema,omitempty" doc:"Input tensors of a model"`
	Outputs      []typeregistry.Column `json:"output_schema,omitempty" doc:"Output tensors of a model"`
	Exportable   []string              `json:"exportable_formats,omitempty"`
	Tags         []string              `json:"tags,omitempty" maxItems:"50"`
	Rows         *int64                `json:"rows,omitempty" minimum:"0"`
	Estimated    *int64                `json:"estimated_rows,omitempty" minimum:"0" doc:"Alias of rows"`
	Columns      []typeregistry.Column `json:"columns,omitempty" doc:"Columns of a dataset"`
	Schema       []typeregistry.Column `json:"schema,omitempty" doc:"Alias of columns"`
	Partitioning []string              `json:"partitioning,omitempty" doc:"Columns that a dataset is partitioned by"`
	Features     []typeregistry.Column `json:"features,omitempty" doc:"Features of a feature set"`
	EntityKey    string                `json:"entity_key,omitempty" maxLength:"200"`
	TimestampKey string                `json:"timestamp_key,omitempty" maxLength:"200"`
	URI          string                `json:"uri,omitempty" doc:"Location of data that FlowForge does not store" maxLength:"2000"`
	File         *content.FileRef      `json:"file,omitempty" doc:"Reference to uploaded bytes: the response of POST /blobs"`
	Metadata     map[string]any        `json:"metadata,omitempty"`
	Artifact     *uuid.UUID            `json:"artifact,omitempty" doc:"ID of an artifact to register instead of file. The entry inherits its framework, tags and metadata"`
	Metrics      map[string]float64    `json:"metrics,omitempty" doc:"Metrics of a model, in addition to numbers in its metadata" maxProperties:"200"`
	TestSet      string                `json:"test_set,omitempty" doc:"Test set that the model's metrics were measured on" maxLength:"200"`
}

type entryBody struct {
	Ref          string                `json:"ref" doc:"Reference to the entry, as an input value"`
	Kind         typeregistry.Kind     `json:"kind"`
	Name         string                `json:"name"`
	Version      string                `json:"version"`
	Description  string                `json:"description"`
	Format       string                `json:"format,omitempty"`
	Framework    string                `json:"framework,omitempty"`
	Architecture string                `json:"architecture,omitempty"`
	Inputs       []typeregistry.Column `json:"input_schema,omitempty"`
	Outputs      []typeregistry.Column `json:"output_schema,omitempty"`
	Exportable   []string              `json:"exportable_formats,omitempty"`
	Tags         []string              `json:"tags"`
	Rows         *int64                `json:"rows,omitempty"`
	Estimated    *int64                `json:"estimated_rows,omitempty" doc:"Alias of rows"`
	Columns      []typeregistry.Column `json:"columns,omitempty"`
	Schema       []typeregistry.Column `json:"schema,omitempty" doc:"Alias of columns"`
	Partitioning []string              `json:"partitioning,omitempty"`
	Features     []typeregistry.Column `json:"features,omitempty"`
	EntityKey    string                `json:"entity_key,omitempty"`
	TimestampKey string                `json:"timestamp_key,omitempty"`
	URI          string                `json:"uri,omitempty"`
	SizeBytes    int64                 `json:"size_bytes,omitempty"`
	SHA256       string                `json:"sha256,omitempty"`
	MediaType    string                `json:"media_type,omitempty"`
	Filename     string                `json:"filename,omitempty"`
	DownloadURL  string                `json:"download_url,omitempty" doc:"Download URL; absent if FlowForge does not store the data"`
	Metadata     map[string]any        `json:"metadata,omitempty"`
	Artifact     *uuid.UUID            `json:"artifact,omitempty" doc:"ID of the artifact that the entry was registered from"`
	Metrics      map[string]float64    `json:"metrics,omitempty"`
	TestSet      string                `json:"test_set,omitempty"`
	CreatedBy    string                `json:"created_by,omitempty"`
	CreatedAt    time.Time             `json:"created_at"`
}

type entryPage struct {
	Entries  []entryBody `json:"entries"`
	NextPage string      `json:"next_page,omitempty"`
}

type entryQuery struct {
	PageQuery
	Text      string `query:"q" doc:"Text to find in the name or description, or a tag" maxLength:"200"`
	Where     string `query:"where" doc:"Query over facts, metadata and metrics, such as metadata.accuracy >= 0.9" maxLength:"4000"`
	Format    string `query:"format" maxLength:"100"`
	Framework string `query:"framework" maxLength:"100"`
}

type featureList struct {
	Features []catalogue.Feature `json:"features"`
}

// shelf is a collection of the API that holds catalogue entries of one kind.
type shelf struct {
	kind     typeregistry.Kind
	path     string
	id, noun string
}

func shelves() []shelf {
	return []shelf{
		{typeregistry.KindDataset, "/datasets", "dataset", "dataset"},
		{typeregistry.KindFeatureSet, "/feature-store/feature-sets", "feature-set", "feature set"},
		{typeregistry.KindModel, "/models", "model", "model"},
	}
}

// catalogueAPI serves datasets, feature sets and models by name and version.
type catalogueAPI struct {
	Catalogue *catalogue.Service
	Registry  *registry.Service
	Artifacts *artifact.Service
	Scope     request.Scope
	Content   *content.Content
}

func (h *catalogueAPI) mount(api *operations) {
	for _, s := range shelves() {
		h.mountShelf(api, s)
	}
	operation(api, get("list-features", "/feature-store/features", "List the features of all feature sets", "Catalogue"), h.apiFeatures)
}

func (h *catalogueAPI) mountShelf(api *operations, s shelf) {
	register := post("register-"+s.id, s.path, "Register a version of a "+s.noun, "Catalogue")
	register.DefaultStatus = http.StatusCreated
	operation(api, register, func(ctx context.Context, in *struct{ Body entryInput }) (*body[entryBody], error) {
		return h.apiRegisterEntry(ctx, s.kind, in.Body)
	})
	operation(api, get("list-"+s.id+"s", s.path, "List every "+s.noun+", newest first", "Catalogue"), func(ctx context.Context, in *entryQuery) (*body[entryPage], error) {
		return h.apiEntries(ctx, s.kind, in)
	})
	operation(api, get("get-"+s.id, s.path+"/{ref}", "Get a "+s.noun+" by name@version, or the newest by name", "Catalogue"), func(ctx context.Context, in *struct {
		Ref string `path:"ref" maxLength:"320"`
	},
	) (*body[entryBody], error) {
		e, err := h.Catalogue.Get(ctx, s.kind, in.Ref)
		if err != nil {
			return nil, err
		}
		return reply(toEntryBody(e)), nil
	})
}

func (h *catalogueAPI) apiRegisterEntry(ctx context.Context, kind typeregistry.Kind, in entryInput) (*body[entryBody], error) {
	columns, err := in.columns()
	if err != nil {
		return nil, err
	}
	e := catalogue.Entry{
		Kind: kind, Name: in.Name, Version: in.Version, Description: in.Description, Format: in.Format, Framework: in.Framework, Tags: in.Tags, From: in.Artifact,
		Facts: catalogue.Facts{
			Rows: cmp.Or(in.Rows, in.Estimated), Columns: columns, Partitioning: in.Partitioning, Features: in.Features, EntityKey: in.EntityKey,
			TimestampKey: in.TimestampKey, Architecture: in.Architecture, Inputs: in.Inputs, Outputs: in.Outputs, Exportable: in.Exportable, URI: in.URI, Metadata: in.Metadata,
			Metrics: in.Metrics, TestSet: in.TestSet,
		},
	}
	if in.File != nil {
		mediaType := artifact.MediaTypeOf(string(kind), in.File.Name, in.File.MediaType)
		blob, err := h.blob(ctx, in.File.SHA256, mediaType)
		if err != nil {
			return nil, apperr.InvalidFields("The entry has invalid values.",
				[]apperr.Field{{Path: "file", Message: "The project does not have this file. Upload it to POST /api/v1/blobs first."}})
		}
		e.Blob = &catalogue.BlobRef{
			SHA256: blob.SHA256, Size: blob.Size, MediaType: mediaType,
			Filename: artifact.SafeFilename(in.File.Name, in.Name, string(kind), mediaType),
		}
	}
	register := h.Catalogue.Register
	if kind == typeregistry.KindModel {
		register = h.Registry.Register
	}
	registered, _, err := register(ctx, e)
	if err != nil {
		return nil, err
	}
	return reply(toEntryBody(registered)), nil
}

// columns returns the columns by either of their names. Responses have both, so an entry that a
// client read and sends back has both, too.
func (in entryInput) columns() ([]typeregistry.Column, error) {
	if len(in.Columns) == 0 {
		return in.Schema, nil
	}
	if len(in.Schema) > 0 && !reflect.DeepEqual(in.Schema, in.Columns) {
		return nil, apperr.InvalidFields("The entry has invalid values.",
			[]apperr.Field{{Path: "schema", Message: "This is another name of columns and has different values. Send only one of the two."}})
	}
	return in.Columns, nil
}

// blob finds bytes that the current project has.
func (h *catalogueAPI) blob(ctx context.Context, hash, mediaType string) (artifact.Blob, error) {
	subject, err := auth.SignedIn(ctx)
	if err != nil {
		return artifact.Blob{}, err
	}
	return h.Artifacts.Blob(ctx, subject.ProjectID, hash, mediaType)
}

func (h *catalogueAPI) apiEntries(ctx context.Context, kind typeregistry.Kind, in *entryQuery) (*body[entryPage], error) {
	page, err := h.Catalogue.List(ctx, catalogue.Filter{
		Kind: kind, Query: in.Text, Where: in.Where, Format: in.Format, Framework: in.Framework, After: in.Page, Limit: in.Limit,
	})
	if err != nil {
		return nil, err
	}
	out := entryPage{Entries: make([]entryBody, 0, len(page.Entries)), NextPage: page.Next}
	for _, e := range page.Entries {
		out.Entries = append(out.Entries, toEntryBody(e))
	}
	return reply(out), nil
}

func (h *catalogueAPI) apiFeatures(ctx context.Context, in *struct {
	Text  string `query:"q" doc:"Text to find in the name" maxLength:"200"`
	Limit int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
}) (*body[featureList], error) {
	features, err := h.Catalogue.Features(ctx, in.Text, in.Limit)
	if err != nil {
		return nil, err
	}
	return reply(featureList{Features: append([]catalogue.Feature{}, features...)}), nil
}

// routes are the routes that carry the bytes of entries.
func (h *catalogueAPI) routes(r chi.Router) {
	for _, s := range shelves() {
		send := h.Scope.Page(func(w http.ResponseWriter, r *http.Request) error { return h.downloadEntry(w, r, s.kind) })
		r.Get(request.APIPrefix+s.path+"/{ref}/download", send)
		r.Head(request.APIPrefix+s.path+"/{ref}/download", send)
	}
}

func (h *catalogueAPI) downloadEntry(w http.ResponseWriter, r *http.Request, kind typeregistry.Kind) error {
	subject, err := auth.SignedIn(r.Context())
	if err != nil {
		return err
	}
	e, err := h.Catalogue.Get(r.Context(), kind, request.PathValue(r, "ref"))
	if err != nil {
		return err
	}
	if e.Blob == nil {
		return apperr.New(apperr.NotFound, "%s %s is registered without a file.", kind, e.Ref())
	}
	return h.Content.Save(w, r, artifact.Artifact{
		ID: e.ID, ProjectID: subject.ProjectID, Name: e.Name, SHA256: e.Blob.SHA256, Size: e.Blob.Size,
		MediaType: e.Blob.MediaType, Filename: e.Blob.Filename, CreatedAt: e.CreatedAt,
	})
}

func toEntryBody(e catalogue.Entry) entryBody {
	out := entryBody{
		Ref: e.Ref(), Kind: e.Kind, Name: e.Name, Version: e.Version, Description: e.Description, Format: e.Format, Framework: e.Framework,
		Architecture: e.Facts.Architecture, Inputs: e.Facts.Inputs, Outputs: e.Facts.Outputs, Exportable: e.Facts.Exportable,
		Tags: e.Tags, Rows: e.Facts.Rows, Estimated: e.Facts.Rows, Columns: e.Facts.Columns, Schema: e.Facts.Columns,
		Partitioning: e.Facts.Partitioning, Features: e.Facts.Features,
		EntityKey: e.Facts.EntityKey, TimestampKey: e.Facts.TimestampKey, URI: e.Facts.URI, Metadata: e.Facts.Metadata,
		Artifact: e.From, Metrics: e.Facts.Metrics, TestSet: e.Facts.TestSet,
		CreatedBy: e.CreatedBy, CreatedAt: e.CreatedAt,
	}
	if e.Blob != nil {
		out.SizeBytes, out.SHA256, out.MediaType, out.Filename = e.Blob.Size, e.Blob.SHA256, e.Blob.MediaType, e.Blob.Filename
		for _, s := range shelves() {
			if s.kind == e.Kind {
				out.DownloadURL = request.APIPrefix + s.path + "/" + url.PathEscape(e.Ref()) + "/download"
			}
		}
	}
	return out
}
