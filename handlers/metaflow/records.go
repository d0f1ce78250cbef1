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
	s := a.Records
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
		found, err := s.RunArtifacts(q.Context(), q.run())
		return map[string]any{"artifacts": found}, err
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
		found, err := s.TaskArtifacts(q.Context(), q.task())
		return map[string]any{"artifacts": found}, err
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
		found, err := s.ArtifactsByHash(q.Context(), q.param("sha256"))
		return map[string]any{"artifacts": found}, err
	})
	r.get("/search", a.search)
}

// searchLimit is the number of runs on a page of a search without a limit.
const searchLimit = 50

func (a *API) search(q request) (any, error) {
	values := q.URL.Query()
	limit := searchLimit
	if text := values.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > metaflow.MaxPage {
			return nil, apperr.New(apperr.Invalid, "limit must be a number from 1 to %d", metaflow.MaxPage)
		}
		limit = n
	}
	runs, next, err := a.Records.SearchRuns(q.Context(), metaflow.RunFilter{
		Text: values.Get("flow"), User: values.Get("user"), Tag: values.Get("tag"), Status: values.Get("status"), After: values.Get("cursor"), Limit: limit,
	})
	found := map[string]any{"runs": runs}
	if next != "" {
		found["next_cursor"] = next
	}
	return found, err
}

// readKnown decodes the JSON body into v and refuses fields that v does not have.
func (q request) readKnown(v any) error {
	decoder := json.NewDecoder(q.Body)
	decoder.DisallowUnknownFields()
	return bodyError(decoder.Decode(v))
}
