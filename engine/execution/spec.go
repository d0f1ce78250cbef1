package execution

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

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

// tokenLife is how long the token of an attempt is valid beyond its timeout: results are
// accepted even after the server was down for weeks.
const tokenLife = 30 * 24 * time.Hour

// spec returns everything that a launcher needs to start the current attempt of node i. When
// it cannot be built, the attempt fails as not started.
func (l *loop) spec(ctx context.Context, i int) (launcher.Attempt, bool) {
	inputs, err := l.attemptInputs(ctx, i)
	op := l.operator(i)
	if err == nil {
		op, err = l.written(ctx, i, inputs.values)
	}
	if err == nil {
		err = l.checkBuckets(ctx, op, inputs)
	}
	var saved string
	var before []string
	if err == nil && (l.nodes[i].attempt > 1 || l.runsAgain(i)) {
		saved, err = l.driver.savedFolder(ctx, l.id, i)
	}
	if err == nil && l.runsAgain(i) {
		before, err = l.driver.checkpointsBefore(ctx, *l.nodes[i].origin)
	}
	if err != nil && l.launches.unreadySpec(i, err) {
		return nil, false
	}
	if err != nil {
		now := l.driver.now()
		l.driver.live.post(l.id, message{node: i, attempt: l.nodes[i].attempt, end: &ending{
			Outcome: startFailed, Message: clean(err.Error(), maxMessage), FinishedAt: now,
		}})
		return nil, false
	}
	attempt, config := l.nodes[i].attempt, l.driver.config
	scope := l.scope(i)
	spec := &flowforgev1.AttemptSpec{
		TaskId:           query.TaskID(l.id, i, attempt),
		Name:             attemptName(l.id, i, attempt),
		Token:            config.Signer.Sign(scope, l.driver.now().Add(tokenLife+op.Timeout)),
		ExecutionId:      l.id.String(),
		Node:             l.nodes[i].name,
		Attempt:          int32(attempt),            //nolint:gosec // a small count
		Retries:          int32(l.nodes[i].retries), //nolint:gosec // a small count
		TenantId:         l.row.TenantID.String(),
		ProjectId:        l.row.ProjectID.String(),
		InputsJson:       string(mustJSON(inputs.values)),
		Env:              l.attemptEnvironment(i, op),
		Files:            inputs.files,
		Secrets:          inputs.secrets,
		Outputs:          l.streams.outputsOf(i, op),
		TimeoutMs:        op.Timeout.Milliseconds(),
		Salvage:          op.Tags != nil,
		GraceMs:          config.Timing.StopGrace.Milliseconds(),
		PreemptGraceMs:   op.Grace().Milliseconds(),
		ApiEndpoint:      config.Endpoint,
		CheckpointKey:    checkpointKey(l.id, i),
		CheckpointFrom:   before,
		CheckpointSha256: saved,
		Traceparent:      l.traceparent(i),
		PackageSha256:    strings.TrimPrefix(op.Code.Package, "sha256:"),
		Requirements:     op.Code.Requirements,
		Image:            op.Code.Image,
		Pods:             int32(op.Resources.Pods), //nolint:gosec // at most a thousand
		PodJson:          podJSON(op, config.Cluster),
		Resident:         op.Resident,
		Fresh:            op.StartsFresh(),
		Serves:           op.Serves,
		WorkflowId:       l.row.WorkflowID.String(),
		Resources:        l.resources(i),
	}
	if !config.Cluster {
		l.addHost(ctx, spec, i, op)
	}
	spec.StoreDir = config.StoreDir
	if l.limitsMemory(i) {
		spec.MemoryLimitMib = spec.Resources.MemoryMib
	}
	setWork(spec, op, config.Cluster)
	return spec, true
}

// scope returns the current attempt of node i.
func (l *loop) scope(i int) auth.TaskScope {
	return auth.TaskScope{ExecutionID: l.id, NodeIndex: i, Attempt: l.nodes[i].attempt, TenantID: l.row.TenantID, ProjectID: l.row.ProjectID}
}

// environment returns the variables of the definition, and on a machine with GPUs the GPUs
// that the attempt may use: only its own.
func (l *loop) environment(i int) map[string]string {
	env := l.operator(i).Environment
	if l.driver.config.Cluster || len(l.driver.quota.Capacity().GPUs) == 0 {
		return env
	}
	devices := make([]string, len(l.nodes[i].devices))
	for k, d := range l.nodes[i].devices {
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
func (l *loop) resources(i int) *flowforgev1.Resources {
	held, pods := l.nodes[i].reserved, max(l.nodes[i].reserved.Pods, 1)
	return &flowforgev1.Resources{
		CpuMillis: int32(held.CPUMillis / pods), MemoryMib: int64(held.MemoryMiB / pods), //nolint:gosec // amounts of a definition
		Gpus: int32(held.GPUs / pods), GpuType: held.GPUType, StorageMib: int64(l.operator(i).Resources.StorageMiB), //nolint:gosec // amounts of a definition
	}
}

// limitsMemory reports whether the attempt of node i ends when it uses more memory than its
// reservation: only an explicit request is a limit, a default request is not.
func (l *loop) limitsMemory(i int) bool {
	room, _ := roomOf(l.origins.overrides, l.operator(i).Name)
	return l.operator(i).Resources.MemoryMiB > 0 || l.nodes[i].memory > 0 || room.MemoryMiB != nil
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

// setWork sets what runs: a process, several, or a request.
func setWork(spec launcher.Attempt, op *workflow.Operator, cluster bool) {
	if len(op.Members) > 0 {
		spec.Work = &flowforgev1.AttemptSpec_Process{Process: &flowforgev1.Process{Command: membersCommand(op, cluster), ImageFolder: cluster}}
		return
	}
	if op.HTTP != nil {
		request := &flowforgev1.Http{Method: op.HTTP.Method, Url: op.HTTP.URL, Headers: op.HTTP.Headers, Body: op.HTTP.Body}
		for _, code := range op.HTTP.Success {
			request.SuccessCodes = append(request.SuccessCodes, int32(code)) //nolint:gosec // a status code
		}
		spec.Work = &flowforgev1.AttemptSpec_Http{Http: request}
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
		spec := &flowforgev1.OutputSpec{Name: o.Name, Kind: string(t.Kind), Inline: !t.IsBlob(), Required: o.Required(), Path: o.Path, Stdout: o.Stdout, Storage: string(o.Storage)}
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

// attemptInputs collects the inputs of node i: its parameters, the outputs of each upstream
// node (<node>_output, <node>_assets, <node>_results), and its typed inputs, which take
// precedence over the others of the same name. The files of its dependencies become local
// files; those of nodes further up stay references, because most tasks do not need them.
func (l *loop) attemptInputs(ctx context.Context, i int) (*attemptInputs, error) {
	op := l.operator(i)
	upstream := l.progress.DependenciesOf(l.home(i))
	if op.Tags != nil {
		upstream = nil // its texts name their sources
	}
	upstream = l.streams.whole(i, upstream)
	further := l.furtherUp(i, upstream)
	if err := l.loadOutputs(ctx, slices.Concat(upstream, further)); err != nil {
		return nil, err
	}
	in := &attemptInputs{values: map[string]any{}, buckets: map[string]map[string]any{}, origins: map[*flowforgev1.InputFile]*artifact.Artifact{}}
	var made []*flowforgev1.InputFile
	maps.Copy(in.values, op.Parameters)
	for _, d := range upstream {
		l.addUpstream(in.values, d)
	}
	var streams []*flowforgev1.InputFile
	for _, input := range op.Inputs {
		if d, ok := l.streams.writerOf(i, input); ok {
			streams = append(streams, l.streams.streamOf(input, d))
			in.values[input.Name] = nil // the runner sets its path
			continue
		}
		value, err := l.typedWith(ctx, i, input, in.values)
		if err != nil {
			return nil, err
		}
		place := l.bucketOfInput(i, input, value)
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
		resolver := &resolver{core: l.driver.core, project: l.row.ProjectID, files: &in.files, secrets: &in.secrets, origins: in.origins}
		if mayNameSecrets(op, name) {
			resolver.grant = func(secret string) *flowforgev1.SecretGrant {
				return &flowforgev1.SecretGrant{Name: secret, Mac: l.driver.config.Signer.Grant(l.scope(i), secret)}
			}
			resolver.noteUse = l.noteConnection
		}
		resolved, err := resolver.resolve(ctx, value, name, "/"+escapePointer(name), kindOfInput(op, name))
		if err != nil {
			return nil, fmt.Errorf("input %s: %w", name, err)
		}
		in.values[name] = resolved
	}
	l.addFurtherUp(in.values, further)
	spots, err := l.filePlacements(ctx, i, in.values)
	if err != nil {
		return nil, err
	}
	in.placeFiles(op, made, spots)
	l.chooseChannels(in)
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
