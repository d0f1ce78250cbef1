// Package workflow manages workflow definitions: it parses and checks the native form
// (YAML or JSON) against the type registry, computes one canonical form and hash of
// every definition, and registers, lists and serves immutable versions.
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

// Limits on a definition, so that hostile documents cannot exhaust memory.
const (
	MaxDocumentBytes = 16 << 20
	MaxOperators     = 20_000
	MaxPorts         = 500 // inputs or outputs of one operator or workflow
)

// Definition is a checked workflow. It is immutable after Parse.
type Definition struct {
	Name        string
	Version     string // semantic version 2.0.0 without build metadata
	OwnerTeam   string
	Description string
	Tags        []string // lower case, sorted, without repetition
	Metadata    map[string]any
	Inputs      typeregistry.Schema
	Outputs     []Output
	Operators   []Operator // those of on_exit come last
	Graphs      []Graph    // by name
	Parallelism int        // nodes of one execution that may be active at once; 0: no limit
	Timeout     time.Duration
	Locks       []Lock             // that an execution holds from start to end
	MaxRunning  int                // executions of the workflow at once; 0: no limit
	MaxDepth    int                // nesting limit of graphs; 0: DefaultDepth
	Errs        Errs               // when the failure of the whole is an error
	RetryBudget protect.WindowRule // of all executions of the workflow together; the zero rule is no limit

	TTL TTL // how long an ended execution is kept

	Metrics []Metric // that an execution reports at its end

	// Schedules are those that the definition declares. They are no part of the version: registering
	// the latest version again with others changes them.
	Schedules []DeclaredSchedule

	// Notices are hints about a valid workflow.
	Notices []string

	// FromConfigMaps are inputs whose default values come from ConfigMaps.
	FromConfigMaps map[string]ConfigMapKey
	// InputTags means that a launch replaces tags in the values of inputs (see ReadLaunchTags).
	InputTags bool
	// Priority is that of launches without one, from 0 to 100; nil: the normal one.
	Priority *int
	// Labels are tags workflow.labels.<name> whose values are computed from the launch.
	Labels map[string]*expression.Expression
	// Constants are tags with the same value in every operator (see Tags).
	Constants map[string]string
	document  json.RawMessage // the canonical form, when it is not the native one
}

// Operator is one unit of work.
type Operator struct {
	Name        string
	Type        OperatorType
	Label       string // the author's name for the kind of work, such as TrainOperator
	Description string
	Inputs      []Input
	Outputs     []OperatorOutput
	Parameters  map[string]any
	Resources   Resources
	Code        Code
	HTTP        *HTTP   // set for TypeHTTP, and for a sensor that sends requests
	SQL         *SQL    // set for TypeSQL, and for a sensor that runs a statement
	GRPC        *GRPC   // set for TypeGRPC alone
	Sensor      *Sensor // set for TypeSensor alone
	Environment map[string]string
	Timeout     time.Duration // 0: none
	Retry       Retry
	DependsOn   []string
	// NeverPreempt protects attempts from preemption; such work must fit in the
	// guarantee of its team.
	NeverPreempt bool
	// GracePeriod is the time that a preempted attempt has to save a checkpoint, from
	// SIGTERM to SIGKILL; 0 means DefaultGracePeriod.
	GracePeriod time.Duration
	// Resident runs attempts in warm pods of their project and image, one after
	// another.
	Resident bool
	// Pool is the pool of workers outside the cluster that runs attempts; "": the
	// installation runs them itself.
	Pool string
	// PoolLabels are labels that the worker must have.
	PoolLabels map[string]string
	// Fresh makes every attempt of a Python script start its own interpreter instead of
	// being a fork of a warm process; nil: if it has GPUs.
	Fresh *bool
	// Pod holds the fields of the operator's pods with their Kubernetes names, as
	// canonical JSON; nil for none. Launchers without pods ignore it.
	Pod json.RawMessage
	// Host replaces Pod when tasks are processes of this machine. The native form has
	// none.
	Host Host

	When         string    // an expression; the operator is skipped unless it is true
	Depends      string    // a rule over its dependencies, in addition to DependsOn
	Foreach      *Foreach  // nil: it runs once
	Locks        []Lock    // that each node holds while it is ready or running
	AllowFailure bool      // its failure does not fail the execution
	Final        bool      // it runs when all others have ended, in any state
	MadeOf       string    // template "name@version" whose fields it uses; "": none
	Graph        string    // set for TypeGraph alone
	Workflow     string    // "name@version", for TypeWorkflow alone
	Approval     *Approval // set for TypeApproval alone
	Cache        *Cache    // nil: it always runs

	// Breaker blocks starts once attempts fail repeatedly; the zero rule never does.
	Breaker protect.BreakerRule
	Drain   bool   // when it fails finally, no further operator begins in its graph
	Tags    *Tags  // nil: its texts have no tags
	Watches bool   // its depends handles no failure, and its own end state is ignored
	Late    bool   // it may begin while the graph drains after a failure (see Drain)
	Exit    bool   // it is the exit hook of an operator: it also runs when a cancellation or a timeout stopped that
	Serves  bool   // other operators do not wait for its end once it is ready; it runs until they have ended
	At      string // its path in a document that is not native
	CodeAt  string // the path of its container or script in such a document; "": it has none

	Metrics []Metric // that each node reports at its end

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
	After       []string // members that must succeed first
	Retries     int      // within the attempt
	Pause       time.Duration
	// Pod holds the other Kubernetes fields of its container, as JSON; nil for none.
	Pod json.RawMessage
}

// DefaultGracePeriod is how long a preempted attempt may take to exit.
const DefaultGracePeriod = 30 * time.Second

// Grace returns how long a preempted attempt of o may take to exit.
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
	Path        string // the path of the file of the input; "": chosen by the runner
	Mode        uint32 // permission bits of that file; 0: unchanged
	Recurse     bool   // of all files in that folder
	// SubPath names a file in the given folder; its tags are resolved in the scope of
	// the caller when SubPathGiven, otherwise in that of the operator itself.
	SubPath      string
	SubPathGiven bool
}

// SourceKind specifies where the value of an operator's input comes from.
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

// Source specifies where a value comes from.
type Source struct {
	Kind    SourceKind
	Value   any // canonical, of the input's type
	Input   string
	Future  Reference
	Field   string
	Formula *expression.Expression
	Tagged  Tagged
}

// Storage is a hint where to store an output.
type Storage string

// The storage hints.
const (
	StorageMemory      Storage = "memory"
	StorageDisk        Storage = "disk"
	StorageDistributed Storage = "distributed"
	StorageStreaming   Storage = "streaming" // readers read it while it is written, see Graph.Streams
)

// OperatorOutput is a typed output of an operator.
type OperatorOutput struct {
	Name        string
	Type        *typeregistry.Type
	Description string
	Storage     Storage

	Path   string  // the absolute path of its file; "": in the outputs folder
	Stdout bool    // it is the standard output of the command
	Source Source  // of a value that the task does not write itself, when its Kind is not ""
	Else   *string // its value without a file; nil: none

	Default *string // the value for tags when the operator did not run; nil: none

	Global string // its name for the whole execution
	GC     string // when its unused artifact is deleted: "" with the execution's record, completion or never
	Key    string // a name to find the artifacts of the execution by; it may have tags

	Bucket  map[string]any // where the runner also uploads it, as the value of RawBucket; nil: nowhere
	Archive Archive        // of the upload
}

// Required reports whether the operator must write the output.
func (o OperatorOutput) Required() bool { return o.Type.Kind != typeregistry.KindOptional }

// Host is what an operator needs of the machine when it runs without a pod.
type Host struct {
	Secrets []SecretVariable
	Scratch []Scratch
	// Refused lists features that only a pod has, with their paths in the document.
	Refused []apperr.Field
}

// SecretVariable is an environment variable that has the value of a secret.
type SecretVariable struct {
	Name   string
	Secret string // of the project
	// Optional omits the variable when the secret does not exist.
	Optional bool
	At       string // its path in the document
}

// Scratch is an empty folder at an absolute path; equal names share one folder.
type Scratch struct{ Name, Path string }

// Resources are the resources of one attempt; 0 leaves the choice to the launcher.
type Resources struct {
	CPUMillis  int
	MemoryMiB  int
	GPUs       int
	GPUType    string
	StorageMiB int
	Network    string // a hint such as "high"
	Pods       int    // that run one attempt together, each with these resources; 0 means 1
	Spread     bool   // GPUs may be on several machines when no machine has enough
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
	Folder       string   // absolute path of the working directory; "": a directory of its own

	// Variables are the names of a container's environment variables in their order. As in
	// Kubernetes, $(NAME) in the command is then the value of a variable, and in a variable
	// that of an earlier one. Nil: the command and the environment stay as they are.
	Variables []string
}

// IsZero reports whether no code is given.
func (c Code) IsZero() bool {
	return len(c.Command) == 0 && len(c.Args) == 0 && c.Script == "" && c.File == "" &&
		c.Package == "" && c.Image == "" && len(c.Requirements) == 0 && c.Folder == ""
}

// OfImage reports whether the image's default program runs, with Args as its arguments.
func (c Code) OfImage() bool {
	return c.Image != "" && len(c.Command) == 0 && c.Script == "" && c.File == ""
}

// Retry describes how often and when a failed attempt runs again. The n-th retry
// waits InitialDelay × Factor^(n-1), at most MaxDelay, spread by ± Jitter.
type Retry struct {
	Limit        int
	InitialDelay time.Duration
	Factor       float64
	MaxDelay     time.Duration
	Jitter       float64 // 0 to 1, the share of the delay
	FailFast     bool    // the final failure skips the operator's dependents and stops the rest
	Memory       MemoryGrowth
	Policy       protect.Policy // which failures are retried
	// Condition must also be true for a retry; nil for none. What it reads is in
	// parse_retry.go. It may be of any dialect of package expression.
	Condition *expression.Expression
	// Declines is the sentence for a Condition that is false; "": the default one.
	Declines string
	// MaxDuration is the time after the first attempt during which a retry may begin;
	// 0: no limit.
	MaxDuration time.Duration
}

// MemoryGrowth raises the memory request after an attempt ran out of memory: by Factor,
// up to LimitMiB. The zero value repeats the same request.
type MemoryGrowth struct {
	Factor   float64
	LimitMiB int
}

// After returns the request that follows one of memoryMiB.
func (g MemoryGrowth) After(memoryMiB int) int {
	if g.Factor <= 1 || memoryMiB <= 0 {
		return memoryMiB
	}
	return max(memoryMiB, int(min(math.Ceil(float64(memoryMiB)*g.Factor), float64(g.LimitMiB))))
}

// defaultRetry provides the defaults of a retry section.
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
