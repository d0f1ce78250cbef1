package handlers_test

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
)

// failureRows are about dead letters, breakers and retry budgets. The execution of the dead
// letter was removed, so no user can requeue it.
func failureRows() []row {
	const ok, moved, conflict = http.StatusOK, http.StatusSeeOther, http.StatusConflict
	const absent = "/00000000-0000-0000-0000-000000000000"
	gone := func(r row) row { return r.answers(http.StatusNotFound) }
	return []row{
		page("/dead-letters", "/dead-letters", auth.ExecutionRead), page("/breakers", "/breakers", auth.ExecutionRead),
		page("/retry-budgets", "/retry-budgets", auth.ExecutionRead),
		page("/semaphores", "/semaphores", auth.ExecutionRead), read("/semaphores", "/semaphores", auth.ExecutionRead),
		write("PUT", "/semaphores", "/semaphores", `{"name": "matrix", "permits": 3}`, auth.QuotaWrite, ok),
		form("/semaphores", "/semaphores", "name=matrix&do=unset", auth.QuotaWrite, moved),
		form("/semaphores", "/semaphores", "name=matrix&permits=none", auth.QuotaWrite, http.StatusUnprocessableEntity),
		read("/dead-letters", "/dead-letters", auth.ExecutionRead), read("/breakers", "/breakers", auth.ExecutionRead),
		read("/retry-budgets", "/retry-budgets", auth.ExecutionRead), read("/dead-deliveries", "/dead-deliveries", auth.ExecutionRead),
		read("/dead-letters/{letter_id}", "/dead-letters/{letter}", auth.ExecutionRead).object(),
		form("/dead-letters/{id}/requeue", "/dead-letters/{letter}/requeue", "", auth.ExecutionCancel, conflict).object(),
		write("POST", "/dead-letters/{letter_id}/requeue", "/dead-letters/{letter}/requeue", "{}", auth.ExecutionCancel, conflict).object(),
		form("/breakers/{id}/reset", "/breakers/{breaker}/reset", "", auth.ExecutionLaunch, moved).object(),
		write("POST", "/breakers/{breaker_id}/reset", "/breakers/{breaker}/reset", `{"reason": "mended"}`, auth.ExecutionLaunch, ok).object(),
		form("/dead-letters/dismiss", "/dead-letters/dismiss", "newest="+absent[1:], auth.ExecutionLaunch, moved),
		write("POST", "/dead-letters/dismiss", "/dead-letters/dismiss", `{"newest": "`+absent[1:]+`"}`, auth.ExecutionLaunch, ok),
		gone(form("/dead-letters/{id}/dismiss", "/dead-letters"+absent+"/dismiss", "", "", 0)),
		gone(write("POST", "/dead-letters/{letter_id}/dismiss", "/dead-letters"+absent+"/dismiss", "{}", "", 0)),
		gone(form("/dead-deliveries/{id}/requeue", "/dead-deliveries/1/requeue", "", "", 0)),
		gone(write("POST", "/dead-deliveries/{delivery_id}/requeue", "/dead-deliveries/1/requeue", "{}", "", 0)),
		gone(form("/dead-deliveries/{id}/dismiss", "/dead-deliveries/1/dismiss", "", "", 0)),
		gone(write("POST", "/dead-deliveries/{delivery_id}/dismiss", "/dead-deliveries/1/dismiss", "{}", "", 0)),
		form("/retry-budgets", "/retry-budgets", "version=0&do=remove", auth.QuotaWrite, moved).at(tenant),
		write("PUT", "/retry-budgets/tenant", "/retry-budgets/tenant", `{"version": 0}`, auth.QuotaWrite, ok).at(tenant),
	}
}

// deadLetter is a dead letter whose execution was removed.
func deadLetter(t *testing.T, b *testBundle, subject auth.Subject) uuid.UUID {
	t.Helper()
	id := uuid.Must(uuid.NewV7())
	_, err := b.pool.Exec(b.ctx, `INSERT INTO dead_letters (id, tenant_id, project_id, execution_id, node_index, node, attempt, workflow_name, version, class, failure, at)
		VALUES ($1, $2, $3, $4, 0, 'wait', 2, 'gone', '1.0.0', 'network', '{"code": "exit", "message": "connection refused"}', now())`,
		id, subject.TenantID, subject.ProjectID, uuid.Must(uuid.NewV7()))
	require.NoError(t, err)
	return id
}

// openBreaker is an open circuit breaker.
func openBreaker(t *testing.T, b *testBundle, subject auth.Subject, workflow uuid.UUID) uuid.UUID {
	t.Helper()
	id := uuid.Must(uuid.NewV7())
	_, err := b.pool.Exec(b.ctx, `INSERT INTO circuit_breakers (id, tenant_id, project_id, workflow_id, workflow_name, operator, fingerprint, version,
			rule_failures, rule_window, rule_open_for, state, failures, opened, opened_at, open_until, last_error, changed_at)
		VALUES ($1, $2, $3, $4, 'flow', 'wait', '\x01', '1.0.0', 2, 60, 3600, 'open', ARRAY[now(), now()], 1, now(), now() + interval '1 hour', 'connection refused', now())`,
		id, subject.TenantID, subject.ProjectID, workflow)
	require.NoError(t, err)
	return id
}
