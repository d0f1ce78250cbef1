package execution

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/channel"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/execution/stored"
	"github.com/flowforge/flowforge/engine/workflow"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/typeregistry"
)

// attemptSpecs builds what a launcher and a runner need for an attempt.
type attemptSpecs struct{ loop *loop }

// of returns everything that a launcher needs to start the current attempt of node i. When
// it cannot be built, the attempt fails as not started.
func (as *attemptSpecs) of(ctx context.Context, i int) (launcher.Attempt, bool) {
	spec, err := as.build(ctx, i)
	if err == nil {
		return spec, true
	}
	if !as.loop.launches.unreadySpec(ctx, i, err) {
		now := as.loop.driver.now()
		as.loop.driver.live.post(as.loop.id, message{node: i, attempt: as.loop.nodes[i].attempt, end: &ending{
			Outcome: startFailed, Message: clean(err.Error(), maxMessage), FinishedAt: now,
		}})
	}
	return nil, false
}

func (as *attemptSpecs) build(ctx context.Context, i int) (launcher.Attempt, error) {
	inputs, err := as.inputs(ctx, i)
	op := as.loop.operator(i)
	if err == nil {
		op, err = as.written(ctx, i, inputs.values)
	}
	if err == nil {
		err = as.checkBuckets(ctx, op, inputs)
	}
	var saved string
	var before []string
	if err == nil && (as.loop.nodes[i].attempt > 1 || as.runsAgain(i)) {
		saved, err = as.loop.driver.savedFolder(ctx, as.loop.id, i)
		err = unlessRefused(err)
	}
	if err == nil && as.runsAgain(i) {
		before, err = as.loop.driver.checkpointsBefore(ctx, *as.loop.nodes[i].origin)
		err = unlessRefused(err)
	}
	if err != nil {
		return nil, err
	}
	attempt, config := as.loop.nodes[i].attempt, as.loop.driver.config
	scope := as.scope(i)
	spec := &flowforgev1.AttemptSpec{
		TaskId:              query.TaskID(as.loop.id, i, attempt),
		Name:                attemptName(as.loop.id, i, attempt),
		Token:               config.Signer.SignAttempt(scope, as.loop.driver.now(), op.Timeout),
		ExecutionId:         as.loop.id.String(),
		Node:                as.loop.nodes[i].name,
		Attempt:             int32(attempt),                  //nolint:gosec // a small count
		Retries:             int32(as.loop.nodes[i].retries), //nolint:gosec // a small count
		TenantId:            as.loop.row.TenantID.String(),
		ProjectId:           as.loop.row.ProjectID.String(),
		InputsJson:          string(mustJSON(inputs.values)),
		Env:                 as.attemptEnvironment(i, op),
		Files:               inputs.files,
		Secrets:             inputs.secrets,
		Outputs:             as.loop.streams.outputsOf(i, op),
		TimeoutMs:           op.Timeout.Milliseconds(),
		CollectAfterFailure: op.Tags != nil,
		GraceMs:             config.Timing.StopGrace.Milliseconds(),
		PreemptGraceMs:      op.Grace().Milliseconds(),
		ApiEndpoint:         config.Endpoint,
		CheckpointKey:       checkpointKey(as.loop.id, i),
		CheckpointFrom:      before,
		CheckpointSha256:    saved,
		Traceparent:         as.traceparent(i),
		PackageSha256:       strings.TrimPrefix(op.Code.Package, "sha256:"),
		Requirements:        op.Code.Requirements,
		Image:               op.Code.Image,
		Pods:                int32(op.Resources.Pods), //nolint:gosec // at most a thousand
		PodJson:             podJSON(op, config.Cluster),
		Resident:            op.Resident,
		Fresh:               op.StartsFresh(),
		Serves:              op.Serves,
		WorkflowId:          as.loop.row.WorkflowID.String(),
		Resources:           as.resources(i),
	}
	if err := as.place(ctx, spec, i, op); err != nil {
		return nil, err
	}
	if op.Polls() {
		spec.Poll = int32(as.loop.sensors.polling(i).Polls + 1) //nolint:gosec // a count
	}
	if as.limitsMemory(i) {
		spec.MemoryLimitMib = spec.Resources.MemoryMib
	}
	setWork(spec, op, config.Cluster)
	return spec, nil
}

// place sets where the attempt of node i runs: in a pool, as pods, or on this machine.
func (as *attemptSpecs) place(ctx context.Context, spec launcher.Attempt, i int, op *workflow.Operator) error {
	config := as.loop.driver.config
	if op.Pool != "" {
		spec.Pool, spec.PoolLabels, spec.Priority = op.Pool, op.PoolLabels, as.loop.row.Priority
		return nil
	}
	spec.StoreDir = config.StoreDir
	if config.Cluster {
		return nil
	}
	return as.addHost(ctx, spec, i, op)
}

// scope returns the current attempt of node i.
func (as *attemptSpecs) scope(i int) auth.TaskScope {
	return auth.TaskScope{ExecutionID: as.loop.id, NodeIndex: i, Attempt: as.loop.nodes[i].attempt, TenantID: as.loop.row.TenantID, ProjectID: as.loop.row.ProjectID}
}

// environment returns the variables of the definition, and on a machine with GPUs the GPUs
// that the attempt may use: only its own.
func (as *attemptSpecs) environment(i int) map[string]string {
	env := as.loop.operator(i).Environment
	if as.loop.driver.config.Cluster || as.loop.operator(i).Pool != "" || len(as.loop.driver.quota.Levels.Capacity().GPUs) == 0 {
		return env
	}
	devices := make([]string, len(as.loop.nodes[i].devices))
	for k, d := range as.loop.nodes[i].devices {
		devices[k] = strconv.Itoa(d)
	}
	env = maps.Clone(env)
	if env == nil {
		env = map[string]string{}
	}
	env["CUDA_VISIBLE_DEVICES"] = strings.Join(devices, ",")
	env["NVIDIA_VISIBLE_DEVICES"] = cmp.Or(strings.Join(devices, ","), "void")
	return env
}

// resources returns the limits of each pod of the current attempt of node i: its
// reservation, when users requested less than the definition or memory grew.
func (as *attemptSpecs) resources(i int) *flowforgev1.Resources {
	held := as.loop.nodes[i].reserved
	if as.loop.operator(i).Pool != "" {
		held = as.loop.admission.amount(i)
		held.MemoryMiB = max(held.MemoryMiB, as.loop.nodes[i].memory)
	}
	pods := max(held.Pods, 1)
	return &flowforgev1.Resources{
		CpuMillis: int32(held.CPUMillis / pods), MemoryMib: int64(held.MemoryMiB / pods), //nolint:gosec // amounts of a definition
		Gpus: int32(held.GPUs / pods), GpuType: held.GPUType, StorageMib: int64(as.loop.operator(i).Resources.StorageMiB), //nolint:gosec // amounts of a definition
	}
}

// limitsMemory reports whether the attempt of node i ends when it uses more memory than its
// reservation: only an explicit request is a limit, a default request is not.
func (as *attemptSpecs) limitsMemory(i int) bool {
	room, _ := overrideOf(as.loop.origins.overrides, as.loop.operator(i).Name)
	return as.loop.operator(i).Resources.MemoryMiB > 0 || as.loop.nodes[i].memory > 0 || room.MemoryMiB != nil
}

// podJSON returns the pod fields of op with the size of its shared memory, and in a cluster
// the containers without a command.
func podJSON(op *workflow.Operator, cluster bool) string {
	silent := imageCommands(op)
	if !cluster {
		silent = nil
	}
	if op.Resources.ShmMiB == 0 && len(op.Members) == 0 && len(silent) == 0 {
		return string(op.Pod)
	}
	fields := stored.Object(op.Pod)
	if fields == nil {
		fields = map[string]any{}
	}
	if len(op.Members) > 0 {
		fields["members"] = podMembers(op)
	}
	if len(silent) > 0 {
		fields["imageCommands"] = silent
	}
	if _, own := fields["shmSize"]; !own && op.Resources.ShmMiB > 0 {
		fields["shmSize"] = strconv.Itoa(op.Resources.ShmMiB) + "Mi"
	}
	return string(mustJSON(fields))
}

// setWork sets what runs: a process, several, a request, a call, a statement, or a search.
func setWork(spec launcher.Attempt, op *workflow.Operator, cluster bool) {
	if len(op.Members) > 0 {
		spec.Work = &flowforgev1.AttemptSpec_Process{Process: &flowforgev1.Process{Command: membersCommand(op, cluster), ImageFolder: cluster}}
		return
	}
	if op.Sensor != nil && op.Sensor.Object != nil {
		o := op.Sensor.Object
		spec.Work = &flowforgev1.AttemptSpec_Object{Object: &flowforgev1.ObjectSearch{Connection: o.Connection, Bucket: o.Bucket, Key: o.Key, Prefix: o.Prefix}}
		return
	}
	if op.GRPC != nil {
		spec.Work = &flowforgev1.AttemptSpec_Grpc{Grpc: grpcWork(op.GRPC)}
		return
	}
	if op.HTTP != nil {
		spec.Work = &flowforgev1.AttemptSpec_Http{Http: httpWork(op)}
		return
	}
	if q := op.SQL; q != nil {
		spec.Work = &flowforgev1.AttemptSpec_Sql{Sql: &flowforgev1.Sql{
			Connection: q.Connection, Query: q.Query, ReadOnly: q.ReadOnly, MaxRows: q.MaxRows, MaxBytes: int64(q.MaxMiB) << 20, TimeoutMs: q.Timeout.Milliseconds(),
		}}
		return
	}
	p, _ := op.Process()
	process := &flowforgev1.Process{Command: p.Command, Script: p.Script, Interpreter: p.Interpreter, Folder: op.Code.Folder}
	if p.Script != "" {
		process.Command = p.Args
	}
	process.Expand, process.Variables = op.Code.Variables != nil, op.Code.Variables
	process.ImageCommand = op.Code.OfImage()
	process.ImageFolder = process.ImageCommand || cluster && op.Tags != nil // like Argo
	spec.Work = &flowforgev1.AttemptSpec_Process{Process: process}
}

func grpcWork(g *workflow.GRPC) *flowforgev1.Grpc {
	out := &flowforgev1.Grpc{
		Address: g.Address, Method: g.Method, Message: g.Message, Metadata: g.Metadata, DeadlineMs: g.Deadline.Milliseconds(), Plaintext: g.Plaintext,
		Ca: g.CA, ServerName: g.ServerName, Descriptors: g.Descriptors, Connection: g.Connection, MaxBytes: int64(cmp.Or(g.MaxMiB, workflow.DefaultGRPCMiB)) << 20,
	}
	if r := g.Again; r != nil {
		out.RetryCodes, out.RetryLimit, out.RetryMaxDelayMs = r.Status, int32(r.Limit), r.MaxDelay.Milliseconds() //nolint:gosec // at most a hundred
	}
	if g.Expected != nil {
		out.Condition = g.Expected.String()
	}
	return out
}

func httpWork(op *workflow.Operator) *flowforgev1.Http {
	h := op.HTTP
	out := &flowforgev1.Http{
		Method: h.Method, Url: h.URL, Headers: h.Headers, Body: h.Body, JsonBody: h.JSONBody, Connection: h.Connection, Tagged: op.Tags == nil,
		MaxBytes: int64(cmp.Or(h.MaxMiB, workflow.DefaultHTTPMiB)) << 20,
	}
	for _, code := range h.Success {
		out.SuccessCodes = append(out.SuccessCodes, int32(code)) //nolint:gosec // a status code
	}
	if r := h.Again; r != nil {
		out.RetryLimit, out.RetryMaxDelayMs = int32(r.Limit), r.MaxDelay.Milliseconds() //nolint:gosec // at most a hundred
		for _, code := range r.Status {
			out.RetryCodes = append(out.RetryCodes, int32(code)) //nolint:gosec // a status code
		}
	}
	if h.Expected != nil {
		out.Condition = h.Expected.String()
	}
	if p := h.Pages; p != nil {
		out.NextPage, out.MaxPages = p.Next.String(), int32(p.Limit) //nolint:gosec // at most 100,000
		if p.Items != nil {
			out.Items = p.Items.String()
		}
	}
	return out
}

func outputSpecs(op *workflow.Operator) []*flowforgev1.OutputSpec {
	specs := make([]*flowforgev1.OutputSpec, 0, len(op.Outputs))
	for _, o := range op.Outputs {
		if o.Source.Kind != "" {
			continue // the engine computes it
		}
		t := o.Type
		if t.Kind == typeregistry.KindOptional {
			t = t.Elem
		}
		spec := &flowforgev1.OutputSpec{Name: o.Name, Kind: string(t.Kind), Inline: !t.IsBlob(), Required: o.Required(), Path: o.Path, Stdout: o.Stdout, Storage: string(o.Storage), Files: !t.IsBlob() && holdsFile(t)}
		if o.Bucket != nil {
			spec.Bucket = &flowforgev1.BucketTarget{Archive: archiveOf(string(o.Archive.Format)), Level: o.Archive.Level}
		}
		specs = append(specs, spec)
	}
	if op.KeepsAll() {
		specs = append(specs, &flowforgev1.OutputSpec{Name: channel.AllOutputs})
	}
	return specs
}

// attemptInputs are the values that a task reads from FLOWFORGE_INPUTS, and the files and
// secrets for the references among them.
type attemptInputs struct {
	values  map[string]any
	files   []*flowforgev1.InputFile
	secrets []*flowforgev1.InputSecret
	buckets map[string]map[string]any                     // the places of inputs in buckets, by the name of the input
	origins map[*flowforgev1.InputFile]*artifact.Artifact // the artifacts of files
}

// inputs collects the inputs of node i: its parameters, the outputs of each upstream
// node (<node>_output, <node>_assets, <node>_results), and its typed inputs, which take
// precedence over the others of the same name. The files of its dependencies become local
// files; those of nodes further up stay references, because most tasks do not need them.
func (as *attemptSpecs) inputs(ctx context.Context, i int) (*attemptInputs, error) {
	op := as.loop.operator(i)
	upstream := as.loop.progress.DependenciesOf(as.loop.home(i))
	if op.Tags != nil {
		upstream = nil // its texts name their sources
	}
	upstream = as.loop.streams.whole(i, upstream)
	further := as.furtherUp(i, upstream)
	if err := as.loop.values.loadOutputs(ctx, slices.Concat(upstream, further)); err != nil {
		return nil, err
	}
	in := &attemptInputs{values: map[string]any{}, buckets: map[string]map[string]any{}, origins: map[*flowforgev1.InputFile]*artifact.Artifact{}}
	var made []*flowforgev1.InputFile
	maps.Copy(in.values, op.Parameters)
	for _, d := range upstream {
		as.addUpstream(in.values, d)
	}
	var streams []*flowforgev1.InputFile
	for _, input := range op.Inputs {
		if d, ok := as.loop.streams.writerOf(i, input); ok {
			streams = append(streams, as.loop.streams.streamOf(input, d))
			in.values[input.Name] = nil // the runner sets its path
			continue
		}
		value, err := as.loop.values.typedWith(ctx, i, input, in.values)
		if err != nil {
			return nil, err
		}
		place := as.bucketOfInput(i, input, value)
		if place != nil {
			in.buckets[input.Name] = place
		}
		if file, ok := madeFile(value, input, place); ok && op.Tags != nil {
			made = append(made, file)
			value = nil // the runner sets its path
		}
		in.values[input.Name] = value
	}
	for name, value := range in.values {
		resolver := &resolver{core: as.loop.driver.core, project: as.loop.row.ProjectID, files: &in.files, secrets: &in.secrets, origins: in.origins}
		if mayNameSecrets(op, name) {
			resolver.grant = func(secret string) *flowforgev1.SecretGrant {
				return &flowforgev1.SecretGrant{Name: secret, Mac: as.loop.driver.config.Signer.Grant(as.scope(i), secret)}
			}
			resolver.noteUse = as.noteConnection
		}
		resolved, err := resolver.resolve(ctx, value, name, "/"+escapePointer(name), kindOfInput(op, name))
		if err != nil {
			return nil, fmt.Errorf("input %s: %w", name, err)
		}
		in.values[name] = resolved
	}
	as.addFurtherUp(in.values, further)
	spots, err := as.filePlacements(ctx, i, in.values)
	if err != nil {
		return nil, err
	}
	in.placeFiles(op, made, spots)
	as.chooseChannels(i, in)
	in.files = append(in.files, streams...)
	return in, nil
}

// kindOfInput returns the kind of a typed input, for references to the catalogue.
func kindOfInput(op *workflow.Operator, name string) typeregistry.Kind {
	for _, input := range op.Inputs {
		if input.Name != name {
			continue
		}
		t := input.Type
		for t.Elem != nil {
			t = t.Elem
		}
		return t.Kind
	}
	return ""
}
