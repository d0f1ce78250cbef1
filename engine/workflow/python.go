package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
)

// Python is what the Python SDK records in the metadata of a version. Authors can write metadata
// themselves, so its fields are texts to show and never facts to decide by.
type Python struct {
	File      string           `json:"file"`      // of the workflow, within the code package
	Function  string           `json:"function"`  // of the workflow: "module:name"
	Functions map[string]Place `json:"functions"` // of the workflow and of its operators
	Written   Annotations      `json:"written"`
	Change    Change           `json:"change"`
	Git       Git              `json:"-"`
	Package   string           `json:"-"` // the code package: "sha256:<hex>"
}

// Place is where a function is in a code package, with its decorators. Lines start at 1.
type Place struct {
	File  string `json:"file"`
	First int    `json:"first"`
	Last  int    `json:"last"`
}

// Annotations are the annotations of a workflow function as its author wrote them.
type Annotations struct {
	Parameters map[string]string `json:"parameters"`
	Returns    string            `json:"returns"`
}

// Change is how the signature of a version differs from that of an earlier one.
type Change struct {
	Level  string `json:"level"` // major, minor or patch
	Reason string `json:"reason"`
	From   string `json:"from"` // the earlier version; "" for the first one
}

// Git is the state of the author's working tree at registration.
type Git struct {
	Commit  string `json:"commit"`
	Branch  string `json:"branch"`
	Subject string `json:"subject"`
	Dirty   bool   `json:"dirty"` // files differed from the commit
}

// Python returns what the SDK recorded, or false for a version that was not registered from Python.
func (d *Definition) Python() (Python, bool) {
	var p Python
	if !decodeMetadata(d.Metadata["python"], &p) || p.File == "" {
		return Python{}, false
	}
	if !decodeMetadata(d.Metadata["git"], &p.Git) {
		p.Git = Git{}
	}
	p.Package = d.codePackage()
	return p, p.Package != ""
}

// Flow returns the name of the flow of Metaflow that the workflow runs, or "" for other workflows.
func (d *Definition) Flow() string {
	var m struct {
		Flow string `json:"flow"`
	}
	if !decodeMetadata(d.Metadata["metaflow"], &m) {
		return ""
	}
	return m.Flow
}

// decodeMetadata reads a value of the metadata. It reports false for one of another form.
func decodeMetadata(value, into any) bool {
	if value == nil {
		return false
	}
	raw, err := json.Marshal(value)
	return err == nil && json.Unmarshal(raw, into) == nil
}

// codePackage returns the code package of the first operator that has one: all operators of a
// workflow from Python share one.
func (d *Definition) codePackage() string {
	for _, o := range d.EveryOperator() {
		if o.Code.Package != "" {
			return o.Code.Package
		}
	}
	return ""
}

// pythonScript is the script that the SDK generates for an operator.
var pythonScript = regexp.MustCompile(`^from flowforge\._task import run\n\nrun\('([\w.]+:[\w.]+)'`)

// PythonFunction returns the function that the operator runs, as "module:name", or "" for other code.
func (o *Operator) PythonFunction() string {
	if found := pythonScript.FindStringSubmatch(o.Code.Script); found != nil {
		return found[1]
	}
	return ""
}

// Note is what a version records about its origin. Both fields may be zero.
type Note struct {
	Change Change
	Git    Git
}

// Notes returns the notes of versions of a workflow, by their ids.
func (s *Service) Notes(ctx context.Context, ref string, versions []uuid.UUID) (map[uuid.UUID]Note, error) {
	q := db.New(s.pool)
	row, err := s.find(ctx, q, auth.WorkflowRead, ref)
	if err != nil {
		return nil, err
	}
	rows, err := q.WorkflowVersionNotes(ctx, row.ID, versions)
	if err != nil {
		return nil, fmt.Errorf("notes of versions of workflow %s: %w", row.ID, err)
	}
	notes := make(map[uuid.UUID]Note, len(rows))
	for _, r := range rows {
		var n Note
		if json.Unmarshal(r.Change, &n.Change) != nil { // written by hand in another form
			n.Change = Change{}
		}
		if json.Unmarshal(r.Git, &n.Git) != nil {
			n.Git = Git{}
		}
		notes[r.ID] = n
	}
	return notes, nil
}
