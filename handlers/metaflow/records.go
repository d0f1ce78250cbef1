package metaflow

import (
	"encoding/json"
	"strconv"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/metaflow"
)

// mountRecords adds the routes of the design document of the metadata service, where runs, tasks
// and artifacts have IDs of their own (docs/metaflow.md).
func (a *API) mountRecords(r routes) {
	const run, task = "/runs/{run}", "/tasks/{task}"
	s := metaflow.Records{Service: a.Records}
	r.post("/runs", func(q request) (any, error) {
		var body metaflow.NewRunRecord
		if err := q.readKnown(&body); err != nil {
			return nil, err
		}
		return s.StartRun(q.Context(), body)
	})
	r.get(run, func(q request) (any, error) { return s.FindRun(q.Context(), q.run()) })
	r.put(run, func(q request) (any, error) {
		var body metaflow.RunChange
		if err := q.readKnown(&body); err != nil {
			return nil, err
		}
		return s.ChangeRun(q.Context(), q.run(), body)
	})
	r.get(run+"/steps", func(q request) (any, error) {
		found, err := s.RunSteps(q.Context(), q.run())
		return map[string]any{"steps": found}, err
	})
	r.get(run+"/steps/{step}", func(q request) (any, error) { return s.RunStep(q.Context(), q.run(), q.step()) })
	r.get(run+"/steps/{step}/tasks", func(q request) (any, error) {
		found, err := s.StepTasks(q.Context(), q.run(), q.step())
		return map[string]any{"tasks": found}, err
	})
	r.get(run+"/artifacts", func(q request) (any, error) {
		return q.artifacts(func(p metaflow.RecordPage) ([]metaflow.ArtifactRecord, string, error) {
			return s.RunArtifacts(q.Context(), q.run(), p)
		})
	})
	r.post("/tasks", func(q request) (any, error) {
		var body metaflow.NewTaskRecord
		if err := q.readKnown(&body); err != nil {
			return nil, err
		}
		return s.StartTask(q.Context(), body)
	})
	r.get(task, func(q request) (any, error) { return s.FindTask(q.Context(), q.task()) })
	r.put(task, func(q request) (any, error) {
		var body metaflow.TaskChange
		if err := q.readKnown(&body); err != nil {
			return nil, err
		}
		return s.ChangeTask(q.Context(), q.task(), body)
	})
	r.get(task+"/artifacts", func(q request) (any, error) {
		return q.artifacts(func(p metaflow.RecordPage) ([]metaflow.ArtifactRecord, string, error) {
			return s.TaskArtifacts(q.Context(), q.task(), p)
		})
	})
	r.post("/artifacts", func(q request) (any, error) {
		var body metaflow.NewArtifactRecord
		if err := q.readKnown(&body); err != nil {
			return nil, err
		}
		return s.RegisterArtifact(q.Context(), body)
	})
	r.get("/artifacts/{artifact}", func(q request) (any, error) { return s.FindArtifact(q.Context(), q.param("artifact")) })
	r.get("/artifacts/by-hash/{sha256}", func(q request) (any, error) {
		return q.artifacts(func(p metaflow.RecordPage) ([]metaflow.ArtifactRecord, string, error) {
			return s.ArtifactsByHash(q.Context(), q.param("sha256"), p)
		})
	})
	r.get("/search", a.search)
}

// recordLimit is the number of records on a page without a limit.
const recordLimit = 50

// recordPage reads the parameters limit and cursor.
func (q request) recordPage() (metaflow.RecordPage, error) {
	values := q.URL.Query()
	p := metaflow.RecordPage{Limit: recordLimit, After: values.Get("cursor")}
	if text := values.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > metaflow.MaxPage {
			return p, apperr.New(apperr.Invalid, "limit must be a number from 1 to %d", metaflow.MaxPage)
		}
		p.Limit = n
	}
	return p, nil
}

// records is a page of records with the cursor of the next page.
func records(name string, found any, next string) map[string]any {
	page := map[string]any{name: found}
	if next != "" {
		page["next_cursor"] = next
	}
	return page
}

// artifacts returns a page of artifacts.
func (q request) artifacts(read func(metaflow.RecordPage) ([]metaflow.ArtifactRecord, string, error)) (any, error) {
	p, err := q.recordPage()
	if err != nil {
		return nil, err
	}
	found, next, err := read(p)
	return records("artifacts", found, next), err
}

func (a *API) search(q request) (any, error) {
	p, err := q.recordPage()
	if err != nil {
		return nil, err
	}
	values := q.URL.Query()
	runs, next, err := metaflow.Records{Service: a.Records}.SearchRuns(q.Context(), metaflow.RunFilter{
		Text: values.Get("flow"), User: values.Get("user"), Tag: values.Get("tag"), Status: values.Get("status"), After: p.After, Limit: p.Limit,
	})
	return records("runs", runs, next), err
}

// readKnown decodes the JSON body into v and rejects fields that v does not have.
func (q request) readKnown(v any) error {
	decoder := json.NewDecoder(q.Body)
	decoder.DisallowUnknownFields()
	return bodyError(decoder.Decode(v))
}
