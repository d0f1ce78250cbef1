package telemetry

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/data/telemetry/spool"
)

// SpooledLines returns the latest lines of the caller's project that contain one of the texts, in
// any case, and that this server has not moved to ClickHouse yet: what can be searched while
// ClickHouse does not answer.
func (s *Service) SpooledLines(ctx context.Context, texts []string, limit int) ([]LogLine, error) {
	project, err := scope(ctx)
	if err != nil {
		return nil, err
	}
	lower := make([]string, len(texts))
	for i, text := range texts {
		lower[i] = strings.ToLower(text)
	}
	var found []LogLine
	err = s.spool.Read(s.spool.AllPending(), func(frame spool.Frame) error {
		if !isLogs(frame.Kind) {
			return nil
		}
		lines, err := decodeLines(frame)
		for i := range lines {
			l := &lines[i]
			text := strings.ToLower(l.Message + " " + string(l.Fields))
			if (project == nil || l.ProjectID == *project) && slices.ContainsFunc(lower, func(t string) bool { return strings.Contains(text, t) }) {
				found = append(found, *l)
			}
		}
		if len(found) > 8*limit { // memory stays bounded for any size of the spool
			found = latest(found, limit)
		}
		return err
	})
	if err != nil && !isDropped(err) {
		return nil, fmt.Errorf("search lines on disk: %w", err)
	}
	return latest(found, limit), nil
}

// latest returns the newest lines, the latest first.
func latest(lines []LogLine, limit int) []LogLine {
	slices.SortFunc(lines, func(a, b LogLine) int { return compareKeys(keyOf(&b), keyOf(&a)) })
	return lines[:min(len(lines), limit)]
}

// At returns the cursor of a line.
func At(l LogLine) Cursor {
	key := keyOf(&l)
	return logPosition{Key: &key}.cursor()
}

// Preceding returns the cursor directly before the line of c, so that a page after it begins with
// that line; "" if c is not of a line.
func (c Cursor) Preceding() Cursor {
	p, err := c.parse()
	if err != nil || p.Key == nil {
		return ""
	}
	p.Key.Seq--
	return p.cursor()
}
