package metaflowruns

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/metaflow"
	"github.com/flowforge/flowforge/data/metaflow/datastore"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// keptIn specifies where the client keeps the data of artifacts.
func keptIn(artifacts []metaflow.Artifact) []ui.Fact {
	for _, a := range artifacts {
		root, ok := strings.CutPrefix(a.Location, rootPrefix)
		if !ok {
			root, _, ok = strings.Cut(a.Location, "/"+a.FlowID+"/data/")
		}
		if ok {
			return []ui.Fact{{Name: "Type", Value: a.DSType}, {Name: "Root", Value: root, Mono: true}}
		}
	}
	return nil
}

// rootPrefix begins the location of an artifact that the client stores below the root of its
// datastore.
const rootPrefix = ":root:"

// artifactLine is an artifact with the place of its value, below the root by its hash.
func artifactLine(a metaflow.Artifact) views.MetaflowArtifact {
	line := views.MetaflowArtifact{Name: a.Name, Type: a.ContentType, Location: a.Location}
	if root, ok := strings.CutPrefix(a.Location, rootPrefix); ok && len(a.SHA) > 2 {
		line.Location = strings.Join([]string{root, a.FlowID, "data", a.SHA[:2], a.SHA}, "/")
	}
	return line
}

// maxValues is the maximum number of artifacts of which a page reads the values; the page says so.
const maxValues = 200

// parameters are the parameters of the run with their values.
func (h *Pages) parameters(ctx context.Context, x *runView) []views.MetaflowArtifact {
	own := slices.DeleteFunc(slices.Clone(x.settings), func(a metaflow.Artifact) bool { return strings.HasPrefix(a.Name, "_") || a.Name == "name" })
	if len(own) == 0 {
		return nil
	}
	return h.withValues(ctx, &x.reading, datastore.Task{Flow: x.flow, Run: x.run, Step: metaflow.ParametersStep, ID: taskOf(own[0])}, own)
}

// taskOf is the ID of the task of an artifact.
func taskOf(a metaflow.Artifact) string { return string(a.TaskID) }

// withValues are artifacts of one attempt with their values from the datastore.
func (h *Pages) withValues(ctx context.Context, l *reading, t datastore.Task, artifacts []metaflow.Artifact) []views.MetaflowArtifact {
	lines := make([]views.MetaflowArtifact, len(artifacts))
	refs := make([]datastore.Ref, 0, len(artifacts))
	for i, a := range artifacts {
		lines[i] = artifactLine(a)
		if len(refs) < maxValues {
			refs = append(refs, datastore.Ref{Name: a.Name, SHA: a.SHA})
		}
	}
	if len(artifacts) == 0 {
		return lines
	}
	limited, cancel := l.limit(ctx)
	defer cancel()
	_, err := auth.Authorize(ctx, auth.ArtifactRead)
	var store datastore.Store
	if err == nil {
		store, err = h.Datastores.Open(limited)
	}
	if err = inTime(ctx, limited, err); err != nil {
		for i := range lines {
			lines[i].Why = unread(err)
		}
		return lines
	}
	values := datastore.Values(limited, store, t, artifacts[0].AttemptID, refs)
	for i, a := range artifacts {
		v, ok := values[a.Name]
		if !ok {
			lines[i].Why = "Values of the first 200 artifacts are shown."
			continue
		}
		lines[i].Value, lines[i].Cut, lines[i].Why = v.Text, v.Cut, v.Why
		if v.Type != "" {
			lines[i].Type = v.Type
		}
		if v.Size > 0 {
			lines[i].Size = units.Bytes(v.Size)
		}
		lines[i].DownloadURL = views.MetaflowDownloadURL(t.Flow, t.Run, t.Step, t.ID, a.Name, a.AttemptID)
	}
	return lines
}

// elsewhere describes that the data of a run is in another datastore than that of the project.
// It is "" otherwise.
func (h *Pages) elsewhere(ctx context.Context, kept []ui.Fact) (string, error) {
	p, err := h.Datastores.Get(ctx)
	if err != nil {
		return "", err
	}
	for _, f := range kept {
		if f.Name == "Root" && !p.Holds(f.Value) {
			return "This is not the datastore of the project, so this server does not read it.", nil
		}
	}
	return "", nil
}

// unread describes why the datastore cannot be read.
func unread(err error) string {
	if apperr.Is(err, apperr.Internal) {
		return "The datastore cannot be read."
	}
	return apperr.MessageOf(err)
}

// download sends the bytes of an artifact as the datastore has them.
func (h *Pages) download(w http.ResponseWriter, r *http.Request) error {
	ctx, t := r.Context(), taskIn(r)
	if _, err := auth.Authorize(ctx, auth.ArtifactRead); err != nil {
		return err
	}
	attempt, err := attemptIn(r)
	if err != nil {
		return err
	}
	found, err := h.Records.Artifacts(ctx, t.Flow, t.Run, metaflow.ArtifactFilter{Step: t.Step, Task: t.ID, Name: request.PathValue(r, "name"), Attempt: attempt})
	if err != nil {
		return err
	}
	store, err := h.Datastores.Open(ctx)
	if err != nil {
		return err
	}
	name, err := datastore.BlobName(t.Flow, found[0].SHA)
	if err != nil {
		return err
	}
	file, size, err := store.Open(ctx, name)
	if err != nil {
		return err
	}
	return send(w, r, file, size, attachment(found[0].Name+".pickle.gz"))
}
