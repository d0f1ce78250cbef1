package metaflow

import (
	"context"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/metaflow"
)

// authenticate accepts the token of an attempt of a flow, which records the run of its execution,
// besides what the rest of the site accepts.
func (a *API) authenticate(next http.Handler) http.Handler {
	site := a.Site.Authenticate(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !auth.IsTaskToken(token) {
			site.ServeHTTP(w, r)
			return
		}
		ctx, err := a.ofAttempt(r.Context(), token)
		if err != nil {
			a.Site.Fail(w, r, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// ofAttempt returns the context of an attempt of a flow that has not ended.
func (a *API) ofAttempt(ctx context.Context, token string) (context.Context, error) {
	scope, err := a.Signer.Verify(token, a.Now())
	if err != nil {
		return nil, err
	}
	task := auth.WithSubject(ctx, auth.ForTask(scope))
	if err := a.Executions.Supervisor.Alive(task); err != nil {
		return nil, err
	}
	flow, err := a.Executions.FlowOf(task, scope.ExecutionID)
	if err != nil {
		return nil, err
	}
	if flow == "" {
		return nil, apperr.New(apperr.Forbidden, "Only tasks of deployed Metaflow flows can use this service with a task token. Use an API key.")
	}
	return auth.WithSubject(ctx, auth.ForRun(scope, flow)), nil
}

// reused answers which tasks the execution of an attempt takes over from an earlier run, and which
// run that is.
func (a *API) reused(q request) (any, error) {
	subject, err := auth.Authorize(q.Context(), auth.ExecutionRead)
	if err != nil {
		return nil, err
	}
	if subject.Task == nil {
		return nil, apperr.New(apperr.Forbidden, "This request requires a task token.")
	}
	origin, tasks, err := a.Executions.ReusedTasks(q.Context(), subject.Task.ExecutionID)
	found := map[string]any{"tasks": tasks}
	if origin != uuid.Nil {
		found["origin"] = metaflow.RunOf(origin)
	}
	return found, err
}
