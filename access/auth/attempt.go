package auth

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// attemptLife is how long the token of an attempt is valid beyond its timeout: results are
// accepted even after the server was down for weeks.
const attemptLife = 30 * 24 * time.Hour

// SignAttempt returns the token of an attempt that starts now, with a timeout; 0: none.
func (s Signer) SignAttempt(scope TaskScope, now time.Time, timeout time.Duration) string {
	return s.Sign(scope, now.Add(attemptLife+timeout))
}

// ScopeOf returns the attempt of a task ID, "<execution>.<node index>.<attempt>".
func ScopeOf(taskID string, tenant, project uuid.UUID) (TaskScope, error) {
	parts := strings.Split(taskID, ".")
	if len(parts) != 3 {
		return TaskScope{}, fmt.Errorf("%q is not a task ID", taskID)
	}
	execution, err := uuid.Parse(parts[0])
	if err != nil {
		return TaskScope{}, fmt.Errorf("%q is not a task ID: %w", taskID, err)
	}
	node, err := strconv.Atoi(parts[1])
	if err != nil {
		return TaskScope{}, fmt.Errorf("%q is not a task ID: %w", taskID, err)
	}
	number, err := strconv.Atoi(parts[2])
	if err != nil {
		return TaskScope{}, fmt.Errorf("%q is not a task ID: %w", taskID, err)
	}
	return TaskScope{ExecutionID: execution, NodeIndex: node, Attempt: number, TenantID: tenant, ProjectID: project}, nil
}
