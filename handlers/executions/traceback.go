package executions

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/handlers/source"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// framesOpen is how many frames of the author's code are open: of the exception that ended the
// attempt, and of each one before it.
const (
	framesOpen       = 5
	framesOpenBefore = 1
)

// traceback is the exception of the latest attempt that has one, unless a later one succeeded.
func (x *nodeView) traceback(ctx context.Context) (views.Traceback, error) {
	d := x.node
	failed := slices.ContainsFunc(d.Attempts, func(a query.Attempt) bool { return a.Outcome == "FAILED" })
	if !failed || d.State == dag.Succeeded {
		return views.Traceback{}, nil
	}
	stored, err := x.h.Executions.Nodes.Tracebacks(ctx, x.ID, d.Node, 1)
	if err != nil {
		return views.Traceback{}, err
	}
	for attempt, t := range stored {
		if t != nil {
			return x.tracebackView(ctx, attempt, t), nil
		}
	}
	return views.Traceback{}, nil
}

func (x *nodeView) tracebackView(ctx context.Context, attempt int, t *query.Traceback) views.Traceback {
	m := views.Traceback{Attempt: strconv.Itoa(attempt), Text: tracebackText(t)}
	fileURL := func(string, int) string { return "" }
	if python, found := x.version.Definition.Python(); found && x.node.Operator != nil && x.node.Operator.Code.Package == python.Package {
		ref := request.WorkflowRef(ctx, x.version.Name, x.version.WorkflowID)
		fileURL = func(file string, line int) string {
			if strings.HasPrefix(file, "/") || strings.HasPrefix(file, "<") {
				return ""
			}
			return views.SourceFileURL(ref, x.version.Version, file) + "#L" + strconv.Itoa(line)
		}
	}
	for _, e := range t.Exceptions {
		m.Exceptions = append(m.Exceptions, exceptionView(e, fileURL))
	}
	if t.Omitted > 0 {
		m.Omitted = units.Plural(t.Omitted, "more exception is", "more exceptions are") + " only in the log."
	}
	return m
}

func exceptionView(e query.TracebackException, fileURL func(string, int) string) views.TracebackException {
	m := views.TracebackException{Lead: leadOf(e.Relation), Type: e.Type, Message: e.Message}
	open := framesOpen
	if e.Relation != "" {
		open = framesOpenBefore
	}
	places := map[string]int{} // of libraries in m
	for _, f := range slices.Backward(e.Frames) {
		where := fmt.Sprintf("%s:%d", f.File, f.Line)
		if f.Library == "" {
			own := views.TracebackFrame{
				Function: cmp.Or(functionName(f), "top level"), Where: where, URL: fileURL(f.File, f.Line), Open: len(m.Frames) < open,
				Source: frameSource(f), Locals: f.Locals,
			}
			if len(m.Frames) == 0 {
				markFailure(own.Source.Lines, f.Line, failureNote(e))
			} else {
				markCall(own.Source.Lines, f.Line)
			}
			if f.Omitted > 0 {
				own.Omitted = fmt.Sprintf("and %d more", f.Omitted)
			}
			m.Frames = append(m.Frames, own)
			continue
		}
		i, known := places[f.Library]
		if !known {
			i = len(m.Libraries)
			places[f.Library] = i
			m.Libraries = append(m.Libraries, views.TracebackLibrary{Where: where})
		}
		m.Libraries[i].Frames = append(m.Libraries[i].Frames, views.LibraryFrame{Function: functionName(f), Where: where, Code: failingLine(f)})
		m.Libraries[i].Text = units.Plural(len(m.Libraries[i].Frames), "frame", "frames") + " in " + f.Library
	}
	if e.Omitted > 0 {
		m.Omitted = units.Plural(e.Omitted, "more frame is", "more frames are") + " only in the log."
	}
	return m
}

func leadOf(relation string) string {
	switch relation {
	case "cause":
		return "Caused by"
	case "context":
		return "Raised while handling"
	case "part":
		return "Part of the group"
	}
	return ""
}

func failureNote(e query.TracebackException) string {
	first, _, _ := strings.Cut(e.Message, "\n")
	short := e.Type[strings.LastIndexByte(e.Type, '.')+1:]
	if first == "" {
		return short
	}
	return short + ": " + ui.Short(first, 240)
}

func frameSource(f query.TracebackFrame) views.Source {
	if len(f.Source) == 0 {
		return views.Source{}
	}
	lines := source.Lines(f.File, strings.Join(f.Source, "\n"), f.First)
	return views.Source{Name: fmt.Sprintf("%s, lines %d to %d", f.File, f.First, f.First+len(lines)-1), Lines: lines}
}

func markFailure(lines []views.SourceLine, number int, note string) {
	for i := range lines {
		if lines[i].Number == number {
			lines[i].Failed, lines[i].Note = true, note
		}
	}
}

func markCall(lines []views.SourceLine, number int) {
	for i := range lines {
		lines[i].Marked = lines[i].Number == number
	}
}

// markCode marks the line of a function that raised the exception, or called what raised it.
func markCode(code *views.NodeCode, t views.Traceback) {
	if code.URL == "" || len(t.Exceptions) == 0 || len(code.Source.Lines) == 0 {
		return
	}
	first, last := code.Source.Lines[0].Number, code.Source.Lines[len(code.Source.Lines)-1].Number
	for _, f := range t.Exceptions[0].Frames {
		file, text, _ := strings.Cut(f.Where, ":")
		if number, err := strconv.Atoi(text); err == nil && file == code.Kind && number >= first && number <= last {
			markFailure(code.Source.Lines, number, failureNote(query.TracebackException{Type: t.Exceptions[0].Type, Message: t.Exceptions[0].Message}))
			return
		}
	}
}

// functionName is the qualified name of a function without the mark of inner functions.
func functionName(f query.TracebackFrame) string {
	return strings.ReplaceAll(f.Function, ".<locals>", "")
}

// failingLine is the line of a frame that raised or called, without its indentation.
func failingLine(f query.TracebackFrame) string {
	if i := f.Line - f.First; i >= 0 && i < len(f.Source) {
		return strings.TrimSpace(f.Source[i])
	}
	return ""
}

// tracebackText is a traceback to copy, in the order of the page.
func tracebackText(t *query.Traceback) string {
	var text strings.Builder
	for _, e := range t.Exceptions {
		if e.Relation != "" {
			text.WriteString("\n" + leadOf(e.Relation) + "\n")
		}
		text.WriteString(e.Type + ": " + e.Message + "\n")
		for _, f := range slices.Backward(e.Frames) {
			fmt.Fprintf(&text, "  %s:%d %s\n", f.File, f.Line, f.Function)
			if line := failingLine(f); line != "" {
				text.WriteString("    " + line + "\n")
			}
		}
		if e.Omitted > 0 {
			fmt.Fprintf(&text, "  (%d more frames)\n", e.Omitted)
		}
	}
	return text.String()
}
