// Package preset stores named inputs of workflows that users save and share, and reads them for
// other versions than the one that they were saved for.
package preset

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// Sharing is who may use a preset.
type Sharing string

// Who may use a preset. Team includes the other projects of the team, for the workflow of the same
// name.
const (
	Private Sharing = "private"
	Project Sharing = "project"
	Team    Sharing = "team"
)

// Sharings returns all values of Sharing, from the least to the most.
func Sharings() []Sharing { return []Sharing{Private, Project, Team} }

// Whose is the scope of a default preset.
type Whose string

// The scopes of a default preset. A user's own default comes before that of the project.
const (
	Mine       Whose = "me"
	OfProjects Whose = "project"
)

// Limits of presets.
const (
	MaxName        = 80        // characters
	MaxDescription = 300       // characters
	MaxInputs      = 256 << 10 // bytes of JSON
	MaxPerPerson   = 100       // of a workflow
	fewInputs      = 4 << 10   // bytes of JSON that lists have
)

// Preset is a set of named inputs.
type Preset struct {
	ID          uuid.UUID
	WorkflowID  uuid.UUID
	ProjectID   uuid.UUID
	Name        string
	Description string
	Sharing     Sharing
	Version     string         // for which the inputs were saved
	Inputs      map[string]any // decoded JSON; secrets by name. In lists, nil for large ones
	OwnerID     uuid.UUID
	OwnerName   string
	CreatedAt   time.Time
	UpdatedAt   time.Time
	UpdatedBy   string
	Uses        int // launches
	UsedAt      *time.Time

	Origin     string // name of the other project that shares it, "" for the project itself
	Project    string // name of the project of the workflow
	Team       string // name of the team of that project
	Mine       bool   // the caller saved it
	MayChange  bool
	MyDefault  bool // of the caller
	OurDefault bool // of the project
}

// Service stores presets. It is safe for concurrent use.
type Service struct {
	pool      *pgxpool.Pool
	queries   *db.Queries
	workflows *workflow.Service
	now       func() time.Time
}

// NewService returns a Service over pool.
func NewService(pool *pgxpool.Pool, workflows *workflow.Service, now func() time.Time) *Service {
	return &Service{pool: pool, queries: db.New(pool), workflows: workflows, now: now}
}

// IncompatibleValue is a value of a preset that a version does not accept.
type IncompatibleValue struct {
	Path    string // of the value: "layers.0.width"
	Message string
}

// Fitted are the inputs of a preset for a version.
type Fitted struct {
	Inputs       map[string]any // those that the version accepts
	Incompatible []IncompatibleValue
	Added        []string // inputs of the version that the saved version did not have
}

// Fit checks saved inputs against a schema. A field with a problem is left out as a whole; fields
// without a saved value are not problems.
func Fit(schema typeregistry.Schema, saved map[string]any, env typeregistry.Env) Fitted {
	out := Fitted{Inputs: map[string]any{}}
	saved = schema.Assemble(saved, env)
	_, problems := schema.CheckAll(saved, env)
	faulty := map[string]bool{}
	for _, p := range problems {
		name, _, _ := strings.Cut(p.Path, ".")
		if _, given := saved[name]; !given {
			continue // the form or the launch reports it
		}
		faulty[name] = true
		out.Incompatible = append(out.Incompatible, IncompatibleValue(p))
	}
	for name, value := range saved {
		if !faulty[name] {
			out.Inputs[name] = value
		}
	}
	return out
}

// addedSince returns the names of the inputs that a newer version has in addition.
func addedSince(before, now typeregistry.Schema) []string {
	var names []string
	for _, f := range now.Fields {
		if _, ok := before.Field(f.Name); !ok {
			names = append(names, f.Name)
		}
	}
	return names
}

// fromRow returns a preset as subject sees it from a workflow of project.
func fromRow(row db.ListPresetsRow, subject auth.Subject, project uuid.UUID, defaults []db.PresetDefaultsRow) (Preset, error) {
	p := Preset{
		ID: row.ID, WorkflowID: row.WorkflowID, ProjectID: row.ProjectID, Name: row.Name, Description: row.Description,
		Sharing: Sharing(row.Sharing), Version: row.Version, OwnerID: row.OwnerID, OwnerName: row.OwnerName,
		CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(), UpdatedBy: row.UpdatedBy, Uses: int(row.Uses), UsedAt: row.UsedAt,
		Project: row.ProjectName, Team: row.TeamName, Mine: row.OwnerID == subject.ID,
	}
	if row.ProjectID != project {
		p.Origin = row.ProjectName
	}
	p.MayChange = mayChange(subject, p.OwnerID, p.Sharing, p.ProjectID)
	p.MyDefault = slices.Contains(defaults, db.PresetDefaultsRow{UserID: subject.ID, PresetID: p.ID})
	p.OurDefault = slices.Contains(defaults, db.PresetDefaultsRow{PresetID: p.ID})
	var err error
	p.Inputs, err = decode(row.FewInputs)
	return p, err
}

// decode returns stored inputs; nil for null.
func decode(raw json.RawMessage) (map[string]any, error) {
	v, err := typeregistry.DecodeJSON(raw)
	inputs, _ := v.(map[string]any)
	return inputs, err
}

// mayChange reports whether subject may change a preset: its owner, and for shared ones those who
// administer the team.
func mayChange(subject auth.Subject, owner uuid.UUID, sharing Sharing, project uuid.UUID) bool {
	if subject.ID == owner {
		return subject.May(auth.ExecutionLaunch, project)
	}
	return sharing != Private && subject.May(auth.WorkflowArchive, project)
}

// facts are the fields for the audit log. The inputs themselves are in the preset.
type facts struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Sharing     Sharing  `json:"sharing"`
	Version     string   `json:"version"`
	Inputs      []string `json:"inputs"`
}

func factsOf(row db.LaunchPreset) facts {
	var inputs map[string]json.RawMessage
	_ = json.Unmarshal(row.Inputs, &inputs) // written by this package
	names := make([]string, 0, len(inputs))
	for name := range inputs {
		names = append(names, name)
	}
	slices.Sort(names)
	return facts{Name: row.Name, Description: row.Description, Sharing: Sharing(row.Sharing), Version: row.Version, Inputs: names}
}
