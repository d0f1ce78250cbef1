package query

import (
	"context"
	"fmt"

	"github.com/flowforge/flowforge/access/auth"
)

// Purpose is why an execution was launched.
type Purpose string

// The purposes. AnyPurpose is for filters.
const (
	Work        Purpose = "WORK"
	ListOptions Purpose = "OPTIONS" // it lists the options of an input
	AnyPurpose  Purpose = "ANY"
)

// purpose returns the purpose of the selected executions, "" for any.
func (f Filter) purpose() string {
	switch {
	case f.Purpose == AnyPurpose, f.Purpose == "" && (f.Workflow != "" || f.Query != ""):
		return ""
	case f.Purpose == "":
		return string(Work)
	}
	return string(f.Purpose)
}

// HasOptionRuns reports whether the project has executions that list options.
func (q *Reader) HasOptionRuns(ctx context.Context) (bool, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return false, err
	}
	has, err := q.queries.HasOptionRuns(ctx, subject.ProjectID)
	if err != nil {
		return false, fmt.Errorf("find executions that list options: %w", err)
	}
	return has, nil
}

// Live returns the number of executions that have not ended and are not only for options.
func (q *Reader) Live(ctx context.Context) (int, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return 0, err
	}
	n, err := q.queries.CountLive(ctx, subject.ProjectID)
	if err != nil {
		return 0, fmt.Errorf("count live executions: %w", err)
	}
	return int(n), nil
}
