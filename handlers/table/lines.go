package table

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/search"
)

// Lines are lines of the logs of many executions.
type Lines struct {
	index.Lines
	Executions map[uuid.UUID]query.Execution // without those that were removed
	// Partial indicates that ClickHouse does not respond: the lines are those that this server has on disk,
	// of all executions of the project.
	Partial bool
	// Newest indicates that the server has so many lines on disk that only the newest of them were searched.
	Newest bool
}

// Lines returns the latest lines that contain one of the texts, of the executions that a query
// selects. Without texts they are those of the query, which then needs one.
func (s *Service) Lines(ctx context.Context, q index.LineQuery) (Lines, error) {
	for _, text := range q.Texts {
		if len([]rune(text)) < search.MinLogText {
			message := fmt.Sprintf("Enter at least %d characters to search in logs.", search.MinLogText)
			return Lines{}, apperr.InvalidFields(message, []apperr.Field{{Path: "text", Message: message}})
		}
	}
	found, err := s.Index.Lines(ctx, q)
	out := Lines{Lines: found}
	if apperr.Is(err, apperr.Unavailable) && len(q.Texts) > 0 {
		if out.Hits, out.Newest, err = s.spooled(ctx, q); err != nil {
			return Lines{}, err
		}
		out.Partial = true
	} else if err != nil {
		return Lines{}, err
	}
	ids := map[uuid.UUID]bool{}
	var list []uuid.UUID
	for _, h := range out.Hits {
		if !ids[h.ExecutionID] {
			ids[h.ExecutionID] = true
			list = append(list, h.ExecutionID)
		}
	}
	executions, err := s.Executions.Named(ctx, list)
	if err != nil {
		return Lines{}, fmt.Errorf("executions of log lines: %w", err)
	}
	out.Executions = make(map[uuid.UUID]query.Execution, len(executions))
	for _, e := range executions {
		out.Executions[e.ID] = e
	}
	return out, nil
}

func (s *Service) spooled(ctx context.Context, q index.LineQuery) (hits []index.Hit, newest bool, err error) {
	lines, newest, err := s.Telemetry.SpooledLines(ctx, q.Texts, index.PageOfLines(q.Limit))
	if err != nil {
		return nil, false, fmt.Errorf("search lines on disk: %w", err)
	}
	hits = make([]index.Hit, len(lines))
	for i, l := range lines {
		hits[i] = index.Hit{
			ExecutionID: l.ExecutionID, NodeIndex: l.NodeIndex, Node: l.Node, Attempt: l.Attempt,
			Line: index.Line{Time: l.Time.UTC(), Level: l.Level, Message: l.Message, Fields: l.Fields, Stream: l.Stream, Seq: l.Seq},
		}
	}
	return hits, newest, nil
}
