// Package workflow keeps workflow definitions: it parses and checks the native
// form (YAML or JSON) against the type registry, gives every definition one
// canonical form and hash, and registers, lists and serves immutable versions.
package workflow

import (
	"encoding/json"
	"math"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/expression"
	"github.com/flowforge/flowforge/engine/protect"
	"github.com/flowforge/flowforge/typeregistry"
)

// Limits on a definition; hostile documents end here and not in memory.
const (
	MaxDocumentBytes = 16 << 20
	MaxOperators     = 20_000
	MaxPorts         = 500 // inputs or outputs of one operator or workflow
)

// Definition is a checked workflow. Nobody changes it after Parse.
type Definition struct {
	Name        string
	Version     string // semantic version 2.0.0 without build metadata
	OwnerTeam   string
	Description string
	Tags        []string // lower case, sorted, without repetition
	Metadata    map[string]any
	Inputs      typeregistry.Schema
	Outputs     []Output
	Operators   []Operator // those of on_exit stand last
	Graphs      []Graph    // by name
	Parallelism int        // nodes of one execution that may be at work at once; 0: any number
	Timeout     time.Duration
	Locks       []Lock             // that an execution holds from its begin to its end
	MaxRunning  int                // executions of the workflow at once; 0: any number
	MaxDepth    int                // of graphs in graphs; 0: DefaultDepth
	Errs        Errs               // when the failure of the whole is an error
	RetryBudget protect.WindowRule // of all executions of the workflow together; the zero rule is no limit

	TTL TTL // how long an ended execution is kept

	Metrics []Metric // that an execution tells at its end

	// Notices are what a person should know about the workflow, although nothing is wrong with it.
	Notices []string

	// FromConfigMaps are inputs whose values ConfigMaps have when a launch gives none.
	FromConfigMaps map[string]ConfigMapKey
	// Constants are tags that stand for the same text in every operator (see Tags).
	Constants map[string]string
	document  json.RawMessage // the canonical form, when it is not the native one
}

// Output is a result of the whole workflow: the output of one operator.
type Output struct {
	Name        string
	Type        *typeregistry.Type
	Description string
	From        Reference
	Source      Source // in place of From, when its Kind is not ""
}

// Reference names an output of an operator.
type Reference struct {
	Operator string
	Output   string
}

// String writes "operator.output".
func (r Reference) String() string { return r.Operator + "." + r.Output }

// Operator is one unit of work.
type Operator struct {
	Name        string
	Type        OperatorType
	Label       string // a word of its author's for the kind of work, such as TrainOperator
	Description string
	Inputs      []Input
	Outputs     []OperatorOutput
	Parameters  map[string]any
	Resources   Resources
	Code        Code
	HTTP        *HTTP // set for TypeHTTP alone
	Environment map[string]string
	Timeout     time.Duration // 0: none
	Retry       Retry
	DependsOn   []string
	// NeverPreempt keeps attempts running when somebody with a better right needs
	// the room; such work has to fit into what its team is guaranteed.
	NeverPreempt bool
	// GracePeriod is how long a preempted attempt has to save a checkpoint, from
	// SIGTERM to SIGKILL; 0 means DefaultGracePeriod.
	GracePeriod time.Duration
	// Resident lets attempts run in pods that are kept warm for their project and
	// image, many after one another.
	Resident bool
	// Pod holds the fields of the operator's pods under the names that Kubernetes
	// gives them, as canonical JSON; nil for none. Launchers without pods pass it over.
	Pod json.RawMessage
	// Host is what takes the place of Pod where tasks are processes of this machine. The native
	// form has none.
	Host Host

	When         string    // an expression that has to be true, or the operator is skipped
	Depends      string    // a rule over what it depends on, beside DependsOn
	Foreach      *Foreach  // nil: it runs once
	Locks        []Lock    // that each node holds while it is ready and runs
	AllowFailure bool      // its failure does not fail the execution
	Final        bool      // it runs when all others have ended, however that was
	MadeOf       string    // template "name@version" whose fields it took over; "": none
	Graph        string    // set for TypeGraph alone
	Workflow     string    // "name@version", for TypeWorkflow alone
	Approval     *Approval // set for TypeApproval alone
	Cache        *Cache    // nil: it runs whatever ran before

	// Breaker withholds starts once attempts fail time and again; the zero rule never.
	Breaker protect.BreakerRule
	Drain   bool   // when it fails for good, nothing more begins in its graph
	Tags    *Tags  // nil: its texts mean what they say
	Watches bool   // its depends takes up no failure, and how it ends counts for nothing
	Late    bool   // it may begin when nothing else does any more because something failed (see Drain)
	Serves  bool   // others need not wait for its end once it is ready; it runs until they have ended
	At      string // where it stands in a document that is not native
	CodeAt  string // where its container or script stands in such a document; "": it has none

	Metrics []Metric // that each node tells at its end

	// Members are several containers of one attempt that depend on each other. The one
	// called MainMember has the operator's inputs and outputs.
	Members []Member

	condition  *expression.Expression
	whenOfItem bool // When reads the item of the fan-out
}

// MainMember is the member that has the inputs and outputs of its operator.
const MainMember = "main"

// Member is one of several containers of an attempt.
type Member struct {
	Name        string
	Code        Code
	Environment map[string]string
	After       []string // members that have to succeed before
	Retries     int      // inside of the attempt
	Pause       time.Duration
	// Pod holds what else Kubernetes is told of its container, as JSON; nil for none.
	Pod json.RawMessage
}

// DefaultGracePeriod is how long a preempted attempt may take to end by itself.
const DefaultGracePeriod = 30 * time.Second

// Grace returns how long a preempted attempt of o may take to end by itself.
func (o *Operator) Grace() time.Duration {
	if o.GracePeriod > 0 {
		return o.GracePeriod
	}
	return DefaultGracePeriod
}

// Input is a typed input of an operator and where its value comes from.
type Input struct {
	Name        string
	Type        *typeregistry.Type
	Description string
	Source      Source
	Path        string // where a file of the input has to stand; "": where the runner likes
	Mode        uint32 // permission bits of that file; 0: as it was
	Recurse     bool   // of all files in that folder
	// SubPath names a file in the folder that is given; it may have tags, which are
	// those of whoever gives it when SubPathGiven, or else of the operator itself.
	SubPath      string
	SubPathGiven bool
}

// SourceKind says where the value of an operator's input comes from.
type SourceKind string

// The sources.
const (
	SourceLiteral SourceKind = "literal" // Value
	SourceInput   SourceKind = "input"   // the workflow input Input
	SourceFuture  SourceKind = "future"  // the output Future of another operator
	SourceItem    SourceKind = "item"    // of the fan-out: the item, or its field Field
	SourceIndex   SourceKind = "index"   // of the fan-out: 0, 1, …
	SourceFormula SourceKind = "formula" // the value of Formula
	SourceTags    SourceKind = "tags"    // Tagged, whose tags are replaced
)

// Source says where a value comes from.
type Source struct {
	Kind    SourceKind
	Value   any // canonical, of the input's type
	Input   string
	Future  Reference
	Field   string
	Formula *expression.Expression
	Tagged  Tagged
}

// Storage hints where an output is best kept.
type Storage string

// The storage hints.
const (
	StorageMemory      Storage = "memory"
	StorageDisk        Storage = "disk"
	StorageDistributed Storage = "distributed"
	StorageStreaming   Storage = "streaming" // others read it while it is written, see Graph.Streams
)

// OperatorOutput is a typed output of an operator.
type OperatorOutput struct {
	Name        string
	Type        *typeregistry.Type
	Description string
	Storage     Storage

	Path   string  // the absolute path of its file; "": in the outputs folder
	Stdout bool    // it is what the command writes to its standard output
	Source Source  // of what the task does not write itself, when its Kind is not ""
	Else   *string // its value when there is no file; nil: none

	Default *string // what tags read when the operator did not run; nil: nothing

	Global string // the name under which the whole execution sees it
	GC     string // when its artifact goes that nobody uses: "" with the execution's record, completion or never
	Key    string // a name under which the artifacts of the execution are found; it may have tags
}

// Required reports whether the operator has to write the output.
func (o OperatorOutput) Required() bool { return o.Type.Kind != typeregistry.KindOptional }

// Host is what an operator needs of the machine when it runs without a pod.
type Host struct {
	Secrets []SecretVariable
	Scratch []Scratch
	// Refused is what only a pod can do, with its path in the document.
	Refused []apperr.Field
}

// SecretVariable is an environment variable that has the value of a secret.
type SecretVariable struct {
	Name   string
	Secret string // of the project
	// Optional leaves the variable out when there is no such secret.
	Optional bool
	At       string // where it stands in the document
}

// Scratch is an empty folder at an absolute path; those of one name are one folder.
type Scratch struct{ Name, Path string }

// Resources is what one attempt needs; 0 leaves the choice to the launcher.
type Resources struct {
	CPUMillis  int
	MemoryMiB  int
	GPUs       int
	GPUType    string
	StorageMiB int
	Network    string // a wish such as "high"
	Pods       int    // that run one attempt together, each with these resources; 0 means 1
	Spread     bool   // GPUs may stand on several machines when no machine has enough
	ShmMiB     int    // of shared memory (/dev/shm) in each pod; 0 leaves the choice to the launcher
}

// Code is what a process operator runs.
type Code struct {
	Command      []string
	Args         []string
	Script       string
	File         string // inside Package
	Package      string // "sha256:<hex>" of a tar.gz; a folder until BindPackages
	Image        string
	Requirements []string // of Python, one per line of a requirements file
	Folder       string   // absolute path of the folder that the command runs in; "": one of its own
}

// IsZero reports whether no code is given.
func (c Code) IsZero() bool {
	return len(c.Command) == 0 && len(c.Args) == 0 && c.Script == "" && c.File == "" &&
		c.Package == "" && c.Image == "" && len(c.Requirements) == 0 && c.Folder == ""
}

// OfImage reports whether the image says which program runs, and Args are its arguments.
func (c Code) OfImage() bool {
	return c.Image != "" && len(c.Command) == 0 && c.Script == "" && c.File == ""
}

// HTTP is the request of an http operator.
type HTTP struct {
	Method  string
	URL     string
	Headers map[string]string
	Body    string
	Success []int // status codes; empty: 200 to 299
}

// Retry says how often and when a failed attempt runs again. The n-th retry
// waits InitialDelay × Factor^(n-1), at most MaxDelay, spread by ± Jitter.
type Retry struct {
	Limit        int
	InitialDelay time.Duration
	Factor       float64
	MaxDelay     time.Duration
	Jitter       float64 // 0 to 1, the share of the delay
	FailFast     bool    // the final failure skips what depends on the operator and stops the rest
	Memory       MemoryGrowth
	Policy       protect.Policy // which failures are tried again at all
	// Condition has to be true besides for another try; nil for none. What it reads is
	// in parse_retry.go. It may be of any dialect of package expression.
	Condition *expression.Expression
	// Declines is the sentence for a Condition that is false; "": the usual one.
	Declines string
	// MaxDuration is how long after its first attempt another one may begin; 0: any time.
	MaxDuration time.Duration
}

// MemoryGrowth lets the attempt after one that ran out of memory ask for more:
// Factor times as much, up to LimitMiB. The zero value asks for the same again.
type MemoryGrowth struct {
	Factor   float64
	LimitMiB int
}

// After returns what to ask for once memoryMiB did not suffice.
func (g MemoryGrowth) After(memoryMiB int) int {
	if g.Factor <= 1 || memoryMiB <= 0 {
		return memoryMiB
	}
	return max(memoryMiB, int(min(math.Ceil(float64(memoryMiB)*g.Factor), float64(g.LimitMiB))))
}

// defaultRetry holds for whatever a retry section leaves out.
func defaultRetry() Retry {
	return Retry{InitialDelay: time.Second, Factor: 2, MaxDelay: time.Minute, Jitter: 0.1, FailFast: true, Policy: protect.Always}
}

// Operator returns the operator called name.
func (d *Definition) Operator(name string) (*Operator, bool) {
	for i := range d.Operators {
		if d.Operators[i].Name == name {
			return &d.Operators[i], true
		}
	}
	return nil, false
}

// Output returns the output called name.
func (o *Operator) Output(name string) (OperatorOutput, bool) {
	for _, out := range o.Outputs {
		if out.Name == name {
			return out, true
		}
	}
	return OperatorOutput{}, false
}

// Compile builds the plans of d: that of the workflow under "", those of its graphs
// under their names. Node i of a plan is operator i of its graph. Edges carry the
// names of the outputs that flow along them.
func (d *Definition) Compile() (map[string]*dag.Plan, []apperr.Field) {
	var problems []apperr.Field
	plans := map[string]*dag.Plan{}
	for _, g := range d.all() {
		plan, found := g.compile()
		plans[g.Name], problems = plan, append(problems, found...)
	}
	return plans, problems
}

// Condition is When, ready to be evaluated; nil for none.
func (o *Operator) Condition() *expression.Expression { return o.condition }
