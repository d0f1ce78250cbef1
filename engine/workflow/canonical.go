package workflow

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/engine/protect"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
)

// The canonical form is the native form with every alias replaced, every default
// of the operator level written out as far as it differs, types as canonical
// expressions, and keys in a fixed order: equal definitions are equal bytes.

type definitionJSON struct {
	Name        string              `json:"name"`
	Version     string              `json:"version"`
	OwnerTeam   string              `json:"owner_team,omitempty"`
	Description string              `json:"description,omitempty"`
	Tags        []string            `json:"tags,omitempty"`
	Metadata    map[string]any      `json:"metadata,omitempty"`
	Inputs      typeregistry.Schema `json:"inputs"`
	Outputs     []outputJSON        `json:"outputs"`
	Operators   []operatorJSON      `json:"operators"`
	OnExit      []operatorJSON      `json:"on_exit,omitempty"`
	Parallelism int                 `json:"parallelism,omitempty"`

	Graphs   map[string]graphJSON `json:"graphs,omitempty"`
	Timeout  string               `json:"timeout,omitempty"`
	MaxDepth int                  `json:"max_depth,omitempty"`

	Locks      []lockJSON `json:"locks,omitempty"`
	MaxRunning int        `json:"max_running,omitempty"`

	RetryBudget *retryBudgetJSON `json:"retry_budget,omitempty"`
	TTL         *ttlJSON         `json:"ttl,omitempty"`
}

type retryBudgetJSON struct {
	Retries int    `json:"retries"`
	Window  string `json:"window"`
}

type breakerJSON struct {
	Failures int    `json:"failures"`
	Window   string `json:"window"`
	OpenFor  string `json:"open_for"`
}

type graphJSON struct {
	Description string              `json:"description,omitempty"`
	Inputs      typeregistry.Schema `json:"inputs"`
	Outputs     []outputJSON        `json:"outputs"`
	Operators   []operatorJSON      `json:"operators"`
	OnExit      []operatorJSON      `json:"on_exit,omitempty"`
	Parallelism int                 `json:"parallelism,omitempty"`
}

type outputJSON struct {
	Name        string             `json:"name"`
	Type        *typeregistry.Type `json:"type"`
	Description string             `json:"description,omitempty"`
	From        string             `json:"from,omitempty"`
	Expression  string             `json:"expression,omitempty"`
	Storage     Storage            `json:"storage,omitempty"`
}

type inputJSON struct {
	Name        string             `json:"name"`
	Type        *typeregistry.Type `json:"type"`
	Description string             `json:"description,omitempty"`
	From        string             `json:"from,omitempty"`
	Value       *any               `json:"value,omitempty"`
	Expression  string             `json:"expression,omitempty"`
}

type foreachJSON struct {
	Items       any    `json:"items,omitempty"`
	Expression  string `json:"expression,omitempty"`
	Limit       int    `json:"limit"`
	Parallelism int    `json:"parallelism,omitempty"`
	Partial     bool   `json:"allow_partial,omitempty"`
}

type approvalJSON struct {
	Message string               `json:"message,omitempty"`
	Form    *typeregistry.Schema `json:"form,omitempty"`
	Default map[string]any       `json:"default,omitempty"`
}

type operatorJSON struct {
	Name        string            `json:"name"`
	Type        OperatorType      `json:"type"`
	Label       string            `json:"operator_type,omitempty"`
	Description string            `json:"description,omitempty"`
	Inputs      []inputJSON       `json:"inputs,omitempty"`
	Outputs     []outputJSON      `json:"outputs,omitempty"`
	Parameters  map[string]any    `json:"parameters,omitempty"`
	Resources   *resourcesJSON    `json:"resources,omitempty"`
	Code        *codeJSON         `json:"code,omitempty"`
	HTTP        *httpJSON         `json:"http,omitempty"`
	SQL         *sqlJSON          `json:"sql,omitempty"`
	GRPC        *grpcJSON         `json:"grpc,omitempty"`
	Sensor      *sensorJSON       `json:"sensor,omitempty"`
	Environment map[string]string `json:"environment,omitempty"`
	Timeout     string            `json:"timeout,omitempty"`
	Retry       *retryJSON        `json:"retry,omitempty"`
	Breaker     *breakerJSON      `json:"breaker,omitempty"`
	DependsOn   []string          `json:"depends_on,omitempty"`
	Preemptible *bool             `json:"preemptible,omitempty"`
	GracePeriod string            `json:"grace_period,omitempty"`
	Resident    bool              `json:"resident,omitempty"`
	Pool        string            `json:"pool,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Fresh       *bool             `json:"fresh,omitempty"`
	Pod         json.RawMessage   `json:"pod,omitempty"`

	When         string        `json:"when,omitempty"`
	Depends      string        `json:"depends,omitempty"`
	Foreach      *foreachJSON  `json:"foreach,omitempty"`
	AllowFailure bool          `json:"allow_failure,omitempty"`
	Locks        []lockJSON    `json:"locks,omitempty"`
	Graph        string        `json:"graph,omitempty"`
	Workflow     string        `json:"workflow,omitempty"`
	Approval     *approvalJSON `json:"approval,omitempty"`
	MadeOf       string        `json:"made_of,omitempty"`
	Cache        *cacheJSON    `json:"cache,omitempty"`
}

type resourcesJSON struct {
	CPU     string `json:"cpu,omitempty"`
	Memory  string `json:"memory,omitempty"`
	GPU     int    `json:"gpu,omitempty"`
	GPUType string `json:"gpu_type,omitempty"`
	Storage string `json:"storage,omitempty"`
	Network string `json:"network_bandwidth,omitempty"`
	Pods    int    `json:"pods,omitempty"`
	Spread  bool   `json:"spread,omitempty"`
	Shm     string `json:"shm,omitempty"`
}

type codeJSON struct {
	Command      []string `json:"command,omitempty"`
	Args         []string `json:"args,omitempty"`
	Script       string   `json:"script,omitempty"`
	File         string   `json:"file,omitempty"`
	Package      string   `json:"package,omitempty"`
	Image        string   `json:"image,omitempty"`
	Requirements []string `json:"requirements,omitempty"`
}

type retryJSON struct {
	Limit        int     `json:"limit"`
	InitialDelay string  `json:"initial_delay"`
	Factor       float64 `json:"factor"`
	MaxDelay     string  `json:"max_delay"`
	Jitter       float64 `json:"jitter"`
	FailFast     bool    `json:"fail_fast"`

	Memory     *memoryGrowthJSON `json:"memory,omitempty"`
	Policy     protect.Policy    `json:"policy,omitempty"`
	Expression string            `json:"expression,omitempty"`
}

type memoryGrowthJSON struct {
	Factor float64 `json:"factor"`
	Limit  string  `json:"limit"`
}

// MarshalJSON writes the canonical form, which Parse reads back.
func (d *Definition) MarshalJSON() ([]byte, error) {
	if d.document != nil {
		return d.document, nil
	}
	main := d.Main().wire()
	out := definitionJSON{
		Name: d.Name, Version: d.Version, OwnerTeam: d.OwnerTeam, Description: d.Description, Tags: d.Tags,
		Metadata: d.Metadata, Inputs: d.Inputs, Outputs: main.Outputs, Operators: main.Operators, OnExit: main.OnExit,
		Parallelism: d.Parallelism, MaxDepth: d.MaxDepth, Locks: wireLocks(d.Locks), MaxRunning: d.MaxRunning,
		TTL: d.TTL.wire(),
	}
	if d.Timeout > 0 {
		out.Timeout = units.Compact(d.Timeout)
	}
	if b := d.RetryBudget; b.On() {
		out.RetryBudget = &retryBudgetJSON{b.Retries, units.Compact(b.Window)}
	}
	for i := range d.Graphs {
		if out.Graphs == nil {
			out.Graphs = map[string]graphJSON{}
		}
		out.Graphs[d.Graphs[i].Name] = d.Graphs[i].wire()
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(out); err != nil {
		return nil, fmt.Errorf("definition %s: %w", d.Name, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Canonical returns the canonical form and its SHA-256.
func (d *Definition) Canonical() ([]byte, [sha256.Size]byte, error) {
	data, err := d.MarshalJSON()
	return data, sha256.Sum256(data), err
}

// wire is the graph in the canonical form.
func (g *Graph) wire() graphJSON {
	out := graphJSON{
		Description: g.Description, Inputs: g.Inputs, Outputs: []outputJSON{}, Operators: []operatorJSON{}, Parallelism: g.Parallelism,
	}
	for _, o := range g.Outputs {
		out.Outputs = append(out.Outputs, o.wire())
	}
	for i := range g.Operators {
		if g.Operators[i].Final {
			out.OnExit = append(out.OnExit, g.Operators[i].wire())
		} else {
			out.Operators = append(out.Operators, g.Operators[i].wire())
		}
	}
	return out
}

// wire is the operator in the canonical form. Text with line breaks in scripts
// stays as it is.
func (o *Operator) wire() operatorJSON {
	out := operatorJSON{
		Name: o.Name, Type: o.Type, Label: o.Label, Description: o.Description, Parameters: o.Parameters,
		Environment: o.Environment, DependsOn: o.DependsOn, Resident: o.Resident, Pool: o.Pool, Labels: o.PoolLabels, Fresh: o.Fresh, Pod: o.Pod,
		When: o.When, Depends: o.Depends, AllowFailure: o.AllowFailure, MadeOf: o.MadeOf, Graph: o.ownGraph(), Workflow: o.Workflow, Locks: wireLocks(o.Locks),
		Foreach: o.Foreach.wire(), Approval: o.Approval.wire(), Cache: o.Cache.wire(), GRPC: o.GRPC.wire(), Sensor: o.wireSensor(),
	}
	if o.Sensor == nil {
		out.HTTP, out.SQL = o.HTTP.wire(), o.SQL.wire()
	}
	for _, in := range o.Inputs {
		out.Inputs = append(out.Inputs, in.wire())
	}
	for _, p := range o.Outputs {
		if !o.Type.ownOutputs() {
			break
		}
		w := outputJSON{Name: p.Name, Type: p.Type, Description: p.Description}
		if p.Storage != StorageDisk {
			w.Storage = p.Storage
		}
		out.Outputs = append(out.Outputs, w)
	}
	if o.Resources != (Resources{}) {
		out.Resources = o.Resources.wire()
	}
	if !o.Code.IsZero() {
		c := o.Code
		out.Code = &codeJSON{c.Command, c.Args, c.Script, c.File, c.Package, c.Image, c.Requirements}
	}
	if o.Timeout > 0 {
		out.Timeout = units.Compact(o.Timeout)
	}
	if o.NeverPreempt {
		out.Preemptible = new(false)
	}
	if o.GracePeriod > 0 {
		out.GracePeriod = units.Compact(o.GracePeriod)
	}
	if o.Retry != defaultRetry() {
		out.Retry = o.Retry.wire()
	}
	if b := o.Breaker; b.On() {
		out.Breaker = &breakerJSON{b.Failures, units.Compact(b.Window), units.Compact(b.OpenFor)}
	}
	return out
}

func (r Retry) wire() *retryJSON {
	out := &retryJSON{
		Limit: r.Limit, InitialDelay: units.Compact(r.InitialDelay), Factor: r.Factor, MaxDelay: units.Compact(r.MaxDelay),
		Jitter: r.Jitter, FailFast: r.FailFast,
	}
	if r.Policy != protect.Always {
		out.Policy = r.Policy
	}
	if r.Condition != nil {
		out.Expression = r.Condition.String()
	}
	if r.Memory.Factor > 0 {
		out.Memory = &memoryGrowthJSON{r.Memory.Factor, writeMiB(r.Memory.LimitMiB)}
	}
	return out
}

func (o Output) wire() outputJSON {
	out := outputJSON{Name: o.Name, Type: o.Type, Description: o.Description}
	if o.Source.Kind == SourceFormula {
		out.Expression = o.Source.Formula.String()
	} else {
		out.From = o.From.String()
	}
	return out
}

func (in Input) wire() inputJSON {
	out := inputJSON{Name: in.Name, Type: in.Type, Description: in.Description}
	switch in.Source.Kind {
	case SourceLiteral:
		out.Value = &in.Source.Value
	case SourceFormula:
		out.Expression = in.Source.Formula.String()
	case SourceInput, SourceFuture, SourceItem, SourceIndex:
		out.From = in.Source.reference()
	case SourceTags: // of documents that are not native
	}
	return out
}

// reference writes a source that is a reference.
func (s Source) reference() string {
	switch s.Kind {
	case SourceInput:
		return "inputs." + s.Input
	case SourceFuture:
		return s.Future.String()
	case SourceIndex:
		return LoopIndex
	case SourceItem:
		return strings.TrimSuffix(LoopItem+"."+s.Field, ".")
	case SourceLiteral, SourceFormula, SourceTags:
	}
	return ""
}

// ownGraph is the graph that the definition names; for a workflow, its own name.
func (o *Operator) ownGraph() string {
	if o.Type == TypeWorkflow {
		return ""
	}
	return o.Graph
}

func (f *Foreach) wire() *foreachJSON {
	if f == nil {
		return nil
	}
	out := &foreachJSON{Limit: f.Limit, Parallelism: f.Parallelism, Partial: f.Partial}
	switch f.Items.Kind {
	case SourceFormula:
		out.Expression = f.Items.Formula.String()
	case SourceLiteral:
		out.Items = f.Items.Value
	case SourceInput, SourceFuture, SourceItem, SourceIndex:
		out.Items = f.Items.reference()
	case SourceTags: // of documents that are not native
	}
	return out
}

func (a *Approval) wire() *approvalJSON {
	if a == nil {
		return nil
	}
	out := &approvalJSON{Message: a.Message, Default: a.Default}
	if len(a.Form.Fields) > 0 {
		out.Form = &a.Form
	}
	return out
}

func (r Resources) wire() *resourcesJSON {
	out := &resourcesJSON{GPU: r.GPUs, GPUType: r.GPUType, Network: r.Network, Pods: r.Pods, Spread: r.Spread}
	if r.CPUMillis > 0 {
		out.CPU = strconv.Itoa(r.CPUMillis) + "m"
	}
	out.Memory, out.Storage, out.Shm = writeMiB(r.MemoryMiB), writeMiB(r.StorageMiB), writeMiB(r.ShmMiB)
	return out
}

// writeMiB writes an amount of memory; "" for none.
func writeMiB(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n) + "Mi"
}
