package query

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
)

const (
	shortest = 2 // minimum digits of an id's suffix
	// shortestText is the minimum in a search, where text may also be part of a name.
	shortestText = 4
	maxShorts    = 20 // maximum executions for one suffix
)

// ShortID returns the suffix of an id that text names, as in "#8c6804", without the "#". It
// reports false for text that cannot be a suffix.
func ShortID(text string) (string, bool) {
	end := strings.ToLower(strings.TrimPrefix(strings.TrimSpace(text), "#"))
	if len(end) < shortest || len(end) >= len(uuid.UUID{}.String()) {
		return "", false
	}
	for _, r := range end {
		if (r < '0' || r > '9') && (r < 'a' || r > 'f') && r != '-' {
			return "", false
		}
	}
	return end, true
}

// EndingWith returns the executions of the caller's project whose ids end with text, newest
// first, at most 20.
func (q *Reader) EndingWith(ctx context.Context, text string) ([]uuid.UUID, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return nil, err
	}
	return q.endingWith(ctx, subject.ProjectID, text)
}

func (q *Reader) endingWith(ctx context.Context, project uuid.UUID, text string) ([]uuid.UUID, error) {
	end, ok := ShortID(text)
	if !ok {
		return []uuid.UUID{}, nil
	}
	low := reversed(end)
	ids, err := q.queries.ExecutionsEndingWith(ctx, project, low, low+"~", maxShorts) // no digit is beyond "~"
	if err != nil {
		return nil, fmt.Errorf("find executions by the suffix of their id: %w", err)
	}
	if ids == nil {
		ids = []uuid.UUID{}
	}
	return ids, nil
}

func reversed(text string) string {
	b := make([]byte, len(text))
	for i := range len(text) {
		b[len(text)-1-i] = text[i]
	}
	return string(b)
}
