package api

import (
	"context"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/handlers/request"

	"github.com/flowforge/flowforge/handlers/content"
)

type artifactBody struct {
	ArtifactID  uuid.UUID      `json:"artifact_id"`
	Name        string         `json:"name"`
	Type        string         `json:"type" doc:"Type expression"`
	Kind        string         `json:"kind"`
	Framework   string         `json:"framework,omitempty" doc:"Model framework, from the task's metadata or else from the type"`
	SizeBytes   int64          `json:"size_bytes"`
	SHA256      string         `json:"sha256"`
	MediaType   string         `json:"media_type"`
	Filename    string         `json:"filename"`
	StorageURI  string         `json:"storage_uri"`
	Execution   uuid.UUID      `json:"execution_id"`
	Workflow    string         `json:"workflow_name"`
	Node        string         `json:"node"`
	Attempt     int            `json:"attempt"`
	Metadata    map[string]any `json:"metadata"`
	CreatedAt   time.Time      `json:"created_at"`
	DownloadURL string         `json:"download_url"`
}

type artifactPage struct {
	Artifacts []artifactBody `json:"artifacts"`
	NextPage  string         `json:"next_page,omitempty"`
}

type artifactPath struct {
	ID string `path:"artifact_id" doc:"Artifact ID"`
}

// artifactAPI serves files that tasks produce and uploaded files.
type artifactAPI struct {
	Executions *query.Reader
	Artifacts  *artifact.Service
	Scope      request.Scope
	Content    *content.Content
}

func (h *artifactAPI) mount(api *operations) {
	operation(api, get("list-artifacts", "/artifacts", "List artifacts, newest first", "Artifacts"), h.apiArtifacts)
	operation(api, get("get-artifact", "/artifacts/{artifact_id}", "Get an artifact", "Artifacts"), h.apiArtifact)
	operation(api, get("list-execution-artifacts", "/executions/{execution_id}/artifacts", "List the artifacts of an execution", "Artifacts"), h.apiExecutionArtifacts)
	operation(api, get("get-artifacts-by-hash", "/artifacts/by-hash/{sha256}", "Find artifacts by the SHA-256 of their bytes", "Artifacts"), h.apiArtifactsByHash)
	operation(api, get("read-table", "/artifacts/{artifact_id}/table", "Get rows and column statistics of a table", "Artifacts"), h.apiTable)
	operation(api, get("preview-artifact", "/artifacts/{artifact_id}/preview", "Preview an artifact", "Artifacts"), h.apiPreview)
}

// routes are the routes that carry bytes.
func (h *artifactAPI) routes(r chi.Router) {
	r.Get(request.APIPrefix+"/artifacts/{id}/download", h.Scope.Page(h.Content.Download))
	r.Head(request.APIPrefix+"/artifacts/{id}/download", h.Scope.Page(h.Content.Download))
	r.Post(request.APIPrefix+"/blobs", h.Scope.Page(h.uploadBlob))
}

func (h *artifactAPI) apiArtifacts(ctx context.Context, in *struct {
	PageQuery
	Workflow string `query:"workflow" maxLength:"200"`
	Type     string `query:"type" doc:"Kind, such as Model" maxLength:"100"`
	Text     string `query:"q" doc:"Text to find in the name, node, workflow or file name" maxLength:"200"`
	Where    string `query:"where" doc:"Query over facts and metadata, such as metadata.accuracy >= 0.9 and type = Model" maxLength:"4000"`
}) (*body[artifactPage], error) {
	return h.listArtifacts(ctx, artifact.Filter{Workflow: in.Workflow, Type: in.Type, Query: in.Text, Where: in.Where, After: in.Page, Limit: in.Limit})
}

func (h *artifactAPI) apiExecutionArtifacts(ctx context.Context, in *struct {
	ExecutionPath
	PageQuery
	Type string `query:"type" doc:"Kind, such as Model" maxLength:"100"`
}) (*body[artifactPage], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	if _, err := h.Executions.Get(ctx, id); err != nil {
		return nil, err
	}
	return h.listArtifacts(ctx, artifact.Filter{ExecutionID: &id, Type: in.Type, After: in.Page, Limit: in.Limit})
}

func (h *artifactAPI) listArtifacts(ctx context.Context, filter artifact.Filter) (*body[artifactPage], error) {
	page, err := h.Artifacts.List(ctx, filter)
	if err != nil {
		return nil, err
	}
	return reply(artifactPage{Artifacts: toArtifactBodies(page.Artifacts), NextPage: page.Next}), nil
}

func (h *artifactAPI) apiArtifact(ctx context.Context, in *artifactPath) (*body[artifactBody], error) {
	id, err := request.ParseID(in.ID, "artifact")
	if err != nil {
		return nil, err
	}
	a, err := h.Artifacts.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return reply(toArtifactBody(a)), nil
}

func (h *artifactAPI) apiArtifactsByHash(ctx context.Context, in *struct {
	SHA256 string `path:"sha256" doc:"SHA-256 in lower-case hexadecimal" pattern:"^[0-9a-f]{64}$"`
}) (*body[artifactPage], error) {
	found, err := h.Artifacts.ByHash(ctx, in.SHA256)
	if err != nil {
		return nil, err
	}
	return reply(artifactPage{Artifacts: toArtifactBodies(found)}), nil
}

func toArtifactBodies(artifacts []artifact.Artifact) []artifactBody {
	out := make([]artifactBody, 0, len(artifacts))
	for _, a := range artifacts {
		out = append(out, toArtifactBody(a))
	}
	return out
}

func toArtifactBody(a artifact.Artifact) artifactBody {
	return artifactBody{
		ArtifactID: a.ID, Name: a.Name, Type: a.Type, Kind: a.Kind, SizeBytes: a.Size, SHA256: a.SHA256, MediaType: a.MediaType,
		Filename: a.Filename, StorageURI: "artifact://sha256/" + a.SHA256, Execution: a.ExecutionID, Workflow: a.WorkflowName,
		Node: a.Node, Attempt: a.Attempt, Metadata: metadataOf(a), Framework: frameworkOf(a), CreatedAt: a.CreatedAt,
		DownloadURL: request.APIPrefix + "/artifacts/" + a.ID.String() + "/download",
	}
}

// metadataOf returns the metadata of an artifact, with the execution that produced it.
func metadataOf(a artifact.Artifact) map[string]any {
	out := maps.Clone(a.Metadata)
	if out == nil {
		out = map[string]any{}
	}
	out["created_from_execution"] = a.ExecutionID
	return out
}

var frameworkInType = regexp.MustCompile(`framework="([^"]*)"`)

// frameworkOf returns the framework of a model, "" if neither metadata nor type name it.
func frameworkOf(a artifact.Artifact) string {
	if text, ok := a.Metadata["framework"].(string); ok {
		return text
	}
	if m := frameworkInType.FindStringSubmatch(a.Type); m != nil {
		return m[1]
	}
	return ""
}

// uploadBlob stores the body and returns the value that an input takes for it.
func (h *artifactAPI) uploadBlob(w http.ResponseWriter, r *http.Request) error {
	blob, err := h.Artifacts.Upload(r.Context(), http.MaxBytesReader(w, r.Body, content.MaxUpload))
	if err != nil {
		return err
	}
	name := r.URL.Query().Get("filename")
	mediaType := artifact.MediaTypeOf("", strings.ToLower(name), r.Header.Get("Content-Type"))
	writeCreated(w, map[string]any{
		"$file": blob.SHA256, "name": artifact.SafeFilename(name, "upload", "", mediaType), "size": blob.Size, "media_type": mediaType,
	})
	return nil
}
