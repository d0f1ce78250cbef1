// Package metaflow serves the metadata service of Metaflow below /metaflow: the unmodified client
// works with METAFLOW_SERVICE_URL=http://server/metaflow. Bodies and status codes are those of
// Metaflow's own service.
package metaflow

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/metaflow"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/web"
)

// Prefix begins the paths of the service.
const Prefix = "/metaflow"

// version is the version of Metaflow's service that this one is compatible with. The client
// enables features by it.
const version = "2.5.1"

// maxBody is the maximum size of a request body in bytes.
const maxBody = 16 << 20

// Config contains the dependencies of the service.
type Config struct {
	Log     *slog.Logger
	Site    *web.Site
	Records *metaflow.Service

	Now        func() time.Time
	Signer     auth.Signer // of the tokens of attempts
	Executions *execution.Service
}

// API is the metadata service. It is safe for concurrent use.
type API struct{ Config }

// New returns the service.
func New(c Config) *API { return &API{c} }

// Mount adds the routes to r.
func (a *API) Mount(r chi.Router) {
	r.Route(Prefix, func(r chi.Router) {
		r.Use(versioned)
		r.Get("/ping", text("pong"))
		r.Get("/version", text(version))
		r.Get("/healthcheck", text(`{"status":"UP"}`))
		r.Group(func(r chi.Router) {
			r.Use(a.Site.SameOrigin, keyAsToken, a.authenticate)
			routes{r, a}.get("/flowforge/reused", a.reused)
			a.mountRuns(routes{r, a})
			a.mountTasks(routes{r, a})
			a.mountRecords(routes{r, a})
		})
	})
}

func versioned(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("METADATA_SERVICE_VERSION", version)
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// keyAsToken accepts the header of METAFLOW_SERVICE_AUTH_KEY.
func keyAsToken(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if key := r.Header.Get("X-Api-Key"); key != "" && r.Header.Get("Authorization") == "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		next.ServeHTTP(w, r)
	})
}

func text(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte(body)) // a client that has gone reads nothing
	}
}

func (a *API) mountRuns(r routes) {
	r.get("/flows", func(q request) (any, error) { return a.Records.Flows(q.Context()) })
	r.get("/flows/{flow}", func(q request) (any, error) { return a.Records.Flow(q.Context(), q.flow()) })
	r.post("/flows/{flow}", func(q request) (any, error) {
		var body struct {
			UserName *string `json:"user_name"`
		}
		if err := q.read(&body); err != nil {
			return nil, err
		}
		return a.Records.CreateFlow(q.Context(), q.flow(), body.UserName)
	})
	r.get("/flows/{flow}/runs", func(q request) (any, error) {
		p, err := q.page("flow_id", "run_number", "run_id", "user_name", "user", "ts_epoch", "last_heartbeat_ts", "status")
		if err != nil {
			return nil, err
		}
		runs, next, err := a.Records.Runs(q.Context(), q.flow(), p)
		q.turn(p, next)
		return runs, err
	})
	r.get("/flows/{flow}/runs/{run}", func(q request) (any, error) { return a.Records.Run(q.Context(), q.flow(), q.run()) })
	r.post("/flows/{flow}/run", a.createRun)
	r.post("/flows/{flow}/runs/{run}/heartbeat", func(q request) (any, error) {
		return beat, a.Records.Beat(q.Context(), q.flow(), q.run())
	})
	r.Patch("/flows/{flow}/runs/{run}/tag/mutate", a.answer(a.mutateTags))
	r.get("/flows/{flow}/runs/{run}/metadata", func(q request) (any, error) {
		return a.Records.Metadata(q.Context(), q.flow(), q.run(), "", "")
	})
	a.mountArtifacts(r, "/flows/{flow}/runs/{run}/artifacts", false)
}

func (a *API) mountTasks(r routes) {
	const steps = "/flows/{flow}/runs/{run}/steps"
	const step = steps + "/{step}"
	const task = step + "/tasks/{task}"
	r.get(steps, func(q request) (any, error) { return a.Records.Steps(q.Context(), q.flow(), q.run()) })
	r.get(step, func(q request) (any, error) { return a.Records.Step(q.Context(), q.flow(), q.run(), q.step()) })
	r.post(step+"/step", func(q request) (any, error) {
		body, err := q.created()
		if err != nil {
			return nil, err
		}
		return a.Records.CreateStep(q.Context(), q.flow(), q.run(), q.step(), body.UserName)
	})
	r.get(step+"/tasks", func(q request) (any, error) {
		p, err := q.page("run_number", "step_name", "task_id", "user_name", "ts_epoch", "last_heartbeat_ts")
		if err != nil {
			return nil, err
		}
		tasks, next, err := a.Records.Tasks(q.Context(), q.flow(), q.run(), q.step(), p)
		q.turn(p, next)
		return tasks, err
	})
	r.get(task, func(q request) (any, error) {
		return a.Records.Task(q.Context(), q.flow(), q.run(), q.step(), q.task())
	})
	r.post(step+"/task", func(q request) (any, error) {
		body, err := q.created()
		if err != nil {
			return nil, err
		}
		return a.Records.CreateTask(q.Context(), q.flow(), q.run(), q.step(), string(body.TaskID), body.UserName)
	})
	r.post(task+"/heartbeat", func(q request) (any, error) {
		return beat, a.Records.BeatTask(q.Context(), q.flow(), q.run(), q.step(), q.task())
	})
	r.get(step+"/filtered_tasks", func(q request) (any, error) {
		values := q.URL.Query()
		return a.Records.FilterTasks(q.Context(), q.flow(), q.run(), q.step(), values.Get("metadata_field_name"), values.Get("pattern"))
	})
	r.get(task+"/metadata", func(q request) (any, error) {
		return a.Records.Metadata(q.Context(), q.flow(), q.run(), q.step(), q.task())
	})
	r.post(task+"/metadata", a.addMetadata)
	r.post(task+"/artifact", func(q request) (any, error) {
		var artifacts []metaflow.NewArtifact
		if err := q.read(&artifacts); err != nil {
			return nil, err
		}
		n, err := a.Records.AddArtifacts(q.Context(), q.flow(), q.run(), q.step(), q.task(), artifacts)
		return map[string]int64{"artifacts_created": n}, err
	})
	a.mountArtifacts(r, step+"/artifacts", false)
	a.mountArtifacts(r, task+"/artifacts", false)
	a.mountArtifacts(r, task+"/attempt/{attempt}/artifacts", false)
	a.mountArtifacts(r, task+"/artifacts/{name}", true)
	a.mountArtifacts(r, task+"/artifacts/{name}/attempt/{attempt}", true)
}

// mountArtifacts adds a route that returns artifacts, or one of them.
func (a *API) mountArtifacts(r routes, pattern string, one bool) {
	r.get(pattern, func(q request) (any, error) {
		attempt, err := q.attempt()
		if err != nil {
			return nil, err
		}
		found, err := a.Records.Artifacts(q.Context(), q.flow(), q.run(), metaflow.ArtifactFilter{Step: q.step(), Task: q.task(), Name: q.param("name"), Attempt: attempt})
		if err != nil || !one {
			return found, err
		}
		return found[0], nil
	})
}

func (a *API) createRun(q request) (any, error) {
	body, err := q.created()
	if err != nil {
		return nil, err
	}
	return a.Records.CreateRun(q.Context(), metaflow.NewRun{
		FlowID: q.flow(), RunID: string(body.RunNumber), UserName: body.UserName, Tags: body.Tags, SystemTags: body.SystemTags,
	})
}

func (a *API) mutateTags(q request) (any, error) {
	var body struct {
		Add    []string `json:"tags_to_add"`
		Remove []string `json:"tags_to_remove"`
	}
	if err := q.read(&body); err != nil {
		return nil, err
	}
	tags, err := a.Records.MutateTags(q.Context(), q.flow(), q.run(), body.Add, body.Remove)
	return map[string][]string{"tags": tags}, err
}

func (a *API) addMetadata(q request) (any, error) {
	var facts []metaflow.NewMetadata
	if err := q.read(&facts); err != nil {
		return nil, err
	}
	n, err := a.Records.AddMetadata(q.Context(), q.flow(), q.run(), q.step(), q.task(), facts)
	if apperr.Is(err, apperr.NotFound) {
		return nil, apperr.Wrap(apperr.Invalid, err, "need to register run_id and task_id first")
	}
	return map[string]int64{"metadata_created": n}, err
}

// beat is the answer to a heartbeat. The client decodes it twice.
const beat = `{"wait_time_in_seconds": 10}`

// operation answers a request with a value to encode as JSON.
type operation func(q request) (any, error)

// routes adds the operations of the service to a router.
type routes struct {
	chi.Router
	api *API
}

func (r routes) get(pattern string, op operation)  { r.Get(pattern, r.api.answer(op)) }
func (r routes) post(pattern string, op operation) { r.Post(pattern, r.api.answer(op)) }
func (r routes) put(pattern string, op operation)  { r.Put(pattern, r.api.answer(op)) }

// answer runs op and writes its result as JSON.
func (a *API) answer(op operation) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := request{r, w}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		status := http.StatusOK
		value, err := op(q)
		if err != nil {
			status, value = a.failure(r, err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if err := json.NewEncoder(w).Encode(value); err != nil {
			a.Log.DebugContext(r.Context(), "A response was not delivered.", "error", err)
		}
	}
}

// failure returns the status and the body for an error, as the client expects them.
func (a *API) failure(r *http.Request, err error) (int, any) {
	code := apperr.CodeOf(err)
	status := web.Status(code)
	message := apperr.MessageOf(err)
	switch {
	case errors.Is(err, metaflow.ErrSystemTag):
		return http.StatusUnprocessableEntity, map[string]string{"message": err.Error()}
	case code == apperr.NotFound && strings.HasPrefix(r.URL.Path, Prefix+"/flows"): // as the client knows it
		return http.StatusNotFound, struct{}{}
	case code == apperr.Invalid:
		return http.StatusBadRequest, map[string]string{"message": message}
	case code == apperr.Conflict: // a text that contains JSON, as of the reference
		body, _ := json.Marshal(map[string]string{"err_msg": message}) //nolint:errchkjson // a string always encodes
		return http.StatusConflict, string(body)
	}
	a.Site.LogFailure(r, err)
	return status, map[string]any{"detail": message, "status": status, "title": http.StatusText(status), "type": "about:blank"}
}
