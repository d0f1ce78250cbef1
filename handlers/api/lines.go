package api

import (
	"context"

	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/web/contract"
)

func (h *tableAPI) apiLines(ctx context.Context, in *struct {
	Text  string `query:"text" doc:"Text to find in log lines, case-insensitive; defaults to the log ~ conditions in where" maxLength:"500"`
	Where string `query:"where" doc:"Conditions that select executions, such as: state:failed since:7d" maxLength:"4000"`
	View  string `query:"view" doc:"Name or ID of a saved view whose conditions are added" maxLength:"100"`
	Limit int    `query:"limit" doc:"Number of lines per page" minimum:"1" maximum:"200" default:"20"`
	Page  string `query:"page" doc:"Cursor: next_page from the previous response" maxLength:"1000"`
}) (*body[contract.LogHits], error) {
	requested, err := h.views.inView(ctx, TableQuery{Where: in.Where, View: in.View})
	if err != nil {
		return nil, err
	}
	q := index.LineQuery{Query: requested.index(), After: in.Page, Limit: in.Limit}
	if in.Text != "" {
		q.Texts = []string{in.Text}
	}
	found, err := h.Table.Lines(ctx, q)
	if err != nil {
		return nil, err
	}
	out := contract.LogHits{Lines: []contract.LogHit{}, From: found.From, NextPage: found.Next, Partial: found.Partial, Newest: found.Newest, Bare: found.Bare}
	for _, hit := range found.Hits {
		one := contract.LogHit{
			ExecutionID: hit.ExecutionID, Node: hit.Node, Attempt: hit.Attempt, Stream: hit.Stream, Line: hit.Number, Timestamp: hit.Time, Level: hit.Level, Message: hit.Message, Fields: hit.Fields,
			Before: contextBody(hit.Before), After: contextBody(hit.Behind),
		}
		if e, ok := found.Executions[hit.ExecutionID]; ok {
			one.Execution = label.ExecutionTitle(e)
		}
		out.Lines = append(out.Lines, one)
	}
	return reply(out), nil
}

func contextBody(lines []index.Line) []contract.LogContext {
	list := make([]contract.LogContext, len(lines))
	for i, l := range lines {
		list[i] = contract.LogContext{Line: l.Number, Level: l.Level, Message: l.Message}
	}
	return list
}
