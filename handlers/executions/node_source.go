package executions

import (
	"context"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/handlers/source"
	"github.com/flowforge/flowforge/views"
)

// code is the source code of an operator for pages: the function of a Python operator, the file of
// a package, a script, or the command.
func (x *nodeView) code(ctx context.Context, op *workflow.Operator) views.NodeCode {
	if code, found := x.functionCode(ctx, op); found {
		return code
	}
	text, kind := codeText(op)
	code := views.NodeCode{Text: text, Kind: kind}
	switch {
	case op.HTTP != nil || op.GRPC != nil || op.Sensor != nil:
	case op.SQL != nil:
		code.Source = views.Source{Name: "Query", ID: "code-", Lines: source.Lines("query.sql", text, 1)}
	case op.Code.Script != "":
		name := "script.py"
		if op.Type == workflow.TypeShell {
			name = "script.sh"
		}
		code.Source = views.Source{Name: "Code", ID: "code-", Lines: source.Lines(name, text, 1)}
	case op.Code.File != "" && len(op.Code.Command) == 0:
		text, err := x.h.Packages.Text(ctx, x.ProjectID, op.Code.Package, op.Code.File)
		if err != nil { // its command is shown instead
			return code
		}
		code = views.NodeCode{Text: text, Kind: op.Code.File, Source: views.Source{Name: "Code", ID: "code-", Lines: source.Lines(op.Code.File, text, 1)}}
	}
	return code
}

// functionCode is the function of a Python operator in its code package.
func (x *nodeView) functionCode(ctx context.Context, op *workflow.Operator) (views.NodeCode, bool) {
	python, found := x.version.Definition.Python()
	if !found || op.Code.Package != python.Package {
		return views.NodeCode{}, false
	}
	place, recorded := python.Functions[op.PythonFunction()]
	if !recorded {
		return views.NodeCode{}, false
	}
	lines, err := x.h.Packages.Function(ctx, x.ProjectID, python.Package, place)
	if err != nil { // the generated script is shown instead
		return views.NodeCode{}, false
	}
	ref := request.WorkflowRef(ctx, x.version.Name, x.version.WorkflowID)
	return views.NodeCode{
		Text: textOf(lines), Kind: place.File, Source: views.Source{Name: "Code", ID: "code-", Lines: lines},
		URL: views.SourceFileURL(ref, x.version.Version, place.File) + "#L" + strconv.Itoa(place.First),
	}, true
}

func textOf(lines []views.SourceLine) string {
	var text strings.Builder
	for _, l := range lines {
		for _, p := range l.Parts {
			text.WriteString(p.Text)
		}
		text.WriteString("\n")
	}
	return text.String()
}
