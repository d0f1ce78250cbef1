package execution

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/channel"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// Edge describes how one value, file or folder of a node's typed inputs is transported.
type Edge struct {
	Input    string
	Pointer  string // JSON pointer (RFC 6901) into the inputs; of a value "/<input>"
	From     string // the output that produced it, "train.model"; "" when no node produced it
	Artifact string // id; "" when it is no artifact
	Size     int64  // bytes; before a folder has arrived, the bytes of its file list
	channel.Choice
	Came *Arrival // nil: no attempt has reported it yet, or it is a value
}

// Arrival is how the latest attempt received it, as its runner reported.
type Arrival struct {
	Attempt     int                 `json:"-"`
	Pointer     string              `json:"pointer"`
	Channel     channel.Channel     `json:"channel"`
	Compression channel.Compression `json:"compression,omitempty"` // of the transfer
	Size        int64               `json:"size"`
	Moved       int64               `json:"moved"`  // bytes through a connection
	Copied      int64               `json:"copied"` // bytes written again on its machine
	Took        time.Duration       `json:"took"`
	Note        string              `json:"note,omitempty"` // why the transport differs from the choice, or why it was copied
}

// maxPlaced limits how many files of one attempt have their transport recorded.
const maxPlaced = 2000

// chooseChannels sets how the runner should fetch the files of the attempt's inputs.
func (as *attemptSpecs) chooseChannels(i int, in *attemptInputs) {
	for _, f := range in.files {
		if f.Sha256 == "" {
			continue // the store does not have it
		}
		c := channel.Choose(as.factsOf(i, f, in.origins[f]))
		f.Channel, f.Compression = string(c.Channel), string(c.Compression)
	}
}

func (as *attemptSpecs) factsOf(i int, f *flowforgev1.InputFile, from *artifact.Artifact) channel.Facts {
	config := as.loop.driver.config
	return channel.Facts{
		Folder: f.MediaType == artifact.DirectoryMediaType, Size: f.Size, MediaType: f.MediaType, Filename: f.Filename,
		Hint: as.hintOf(from), SameMachine: config.StoreDir != "" && as.loop.operator(i).Pool == "", Direct: config.DirectStore,
	}
}

// hintOf is the storage hint of the output that became an artifact of this workflow.
func (as *attemptSpecs) hintOf(a *artifact.Artifact) string {
	switch {
	case a == nil:
		return ""
	case a.ExecutionID == as.loop.id && a.NodeIndex < len(as.loop.nodes) && as.loop.nodes[a.NodeIndex].op != nil:
		out, _ := as.loop.nodes[a.NodeIndex].op.Output(a.Name)
		return string(out.Storage)
	case a.WorkflowName != as.loop.row.WorkflowName:
		return ""
	}
	// An earlier execution produced it, and its result was reused.
	op, ok := as.loop.version.Definition.Operator(a.Node)
	if !ok {
		return ""
	}
	out, _ := op.Output(a.Name)
	return string(out.Storage)
}

// keepPlaced stores what runners reported about the inputs of their attempts.
func (s *Supervisor) keepPlaced(ctx context.Context, reports []*flowforgev1.AttemptReport, scopes []auth.TaskScope, results []*flowforgev1.ReportResult) error {
	type row struct {
		Execution uuid.UUID `json:"execution_id"`
		attemptKey
		Inputs []Arrival `json:"inputs"`
		Ended  bool      `json:"ended"`
	}
	var rows []row
	for i, r := range reports {
		placed := r.GetStarted().GetInputs()
		if len(placed) == 0 {
			placed = r.GetFinished().GetInputs()
		}
		if len(placed) == 0 || !results[i].Accepted {
			continue
		}
		scope := scopes[i]
		rows = append(rows, row{scope.ExecutionID, attemptKey{scope.NodeIndex, scope.Attempt}, arrivals(placed), r.GetFinished() != nil})
	}
	if len(rows) == 0 {
		return nil
	}
	if err := s.queries.KeepPlacedInputs(ctx, mustJSON(rows)); err != nil {
		return fmt.Errorf("store how inputs were transported: %w", err)
	}
	return nil
}

// arrivals reads the report of a runner. An unknown channel becomes DISTRIBUTED.
func arrivals(placed []*flowforgev1.PlacedInput) []Arrival {
	list := make([]Arrival, 0, min(len(placed), maxPlaced))
	for _, p := range placed[:min(len(placed), maxPlaced)] {
		a := Arrival{
			Pointer: clean(p.GetPointer(), maxMessage), Channel: channel.Channel(p.GetChannel()), Compression: channel.Compression(p.GetCompression()),
			Size: max(0, p.GetSize()), Moved: max(0, p.GetMoved()), Copied: max(0, p.GetCopied()),
			Took: time.Duration(max(0, p.GetMicros())) * time.Microsecond, Note: clean(p.GetNote(), maxMessage),
		}
		if a.Channel != channel.Memory && a.Channel != channel.LocalDisk && a.Channel != channel.Streaming {
			a.Channel = channel.Distributed
		}
		if !a.Compression.Known() {
			a.Compression = channel.None
		}
		list = append(list, a)
	}
	return list
}

// ChannelService describes how the inputs of a node are transported.
type ChannelService struct {
	*core

	snapshots *snapshots
}

// Edges returns how the typed inputs of a node are transported, and why, as far as their
// values are known. It returns nothing for a fan-out, because each of its items has its own
// edges.
func (s *ChannelService) Edges(ctx context.Context, id uuid.UUID, name string) ([]Edge, error) {
	row, err := s.rows.Execution(ctx, id)
	if err != nil {
		return nil, err
	}
	node, version, err := s.rows.Node(ctx, row, name)
	if err != nil {
		return nil, err
	}
	n := query.NodeFrom(node)
	if op, ok := query.OperatorAt(version, node); !ok || n.FansOut(op) || op.Graph != "" || op.Workflow != "" {
		return nil, nil
	}
	placed, err := s.queries.PlacedInputs(ctx, id, node.NodeIndex)
	if err != nil {
		return nil, fmt.Errorf("read how inputs of %s were transported: %w", name, err)
	}
	arrivals := map[string]*Arrival{}
	for _, r := range placed {
		for _, a := range decodeArrivals(r.Inputs) {
			a.Attempt = int(r.Attempt)
			arrivals[a.Pointer] = &a
		}
	}
	view, err := s.snapshots.view(ctx, row, version, n.Index)
	if err != nil {
		return nil, err
	}
	view.Lock()
	defer view.Unlock()
	return view.loop.specs.edges(auth.AsSystemIn(ctx, row.TenantID, row.ProjectID), n.Index, arrivals)
}

func decodeArrivals(raw json.RawMessage) []Arrival {
	var list []Arrival
	_ = json.Unmarshal(raw, &list) // we wrote it
	return list
}

// edges returns the edges of node i whose values are known.
func (as *attemptSpecs) edges(ctx context.Context, i int, arrivals map[string]*Arrival) ([]Edge, error) {
	var list []Edge
	for _, in := range as.loop.operator(i).Inputs {
		if d, ok := as.loop.streams.writerOf(i, in); ok {
			list = append(list, as.loop.streams.streamEdge(in, d, arrivals["/"+escapePointer(in.Name)]))
			continue
		}
		value, ok, err := as.loop.values.of(ctx, i, in.Source)
		if isUnreadable(err) {
			return nil, err
		}
		if !ok || err != nil || value == nil {
			continue
		}
		files := &attemptInputs{origins: map[*flowforgev1.InputFile]*artifact.Artifact{}}
		r := &resolver{core: as.loop.driver.core, project: as.loop.row.ProjectID, files: &files.files, origins: files.origins}
		_, err = r.resolve(ctx, value, in.Name, "/"+escapePointer(in.Name), kindOfInput(as.loop.operator(i), in.Name))
		if isUnreadable(err) {
			return nil, err
		}
		if err != nil {
			continue // what it names was removed; the attempt reports that
		}
		if len(files.files) == 0 {
			size := int64(len(mustJSON(value)))
			list = append(list, Edge{
				Input: in.Name, Pointer: "/" + escapePointer(in.Name), From: sourceOf(in.Source), Size: size, Choice: channel.Choose(channel.Facts{Value: true, Size: size}),
			})
		}
		for _, f := range files.files {
			list = append(list, as.fileEdge(i, in, f, files.origins[f], arrivals[f.Pointer]))
		}
	}
	return list, nil
}

func (as *attemptSpecs) fileEdge(i int, in workflow.Input, f *flowforgev1.InputFile, from *artifact.Artifact, arrival *Arrival) Edge {
	facts := as.factsOf(i, f, from)
	if facts.Streams = arrival != nil && arrival.Channel == channel.Streaming; !facts.Streams && facts.Hint == channel.HintStreaming {
		facts.Whole = as.loop.streams.noStream(i, in)
	}
	e := Edge{Input: in.Name, Pointer: f.Pointer, From: sourceOf(in.Source), Size: f.Size, Choice: channel.Choose(facts), Came: arrival}
	if from != nil {
		e.Artifact = from.ID.String()
		e.From = from.Node + "." + from.Name
	}
	if arrival != nil {
		e.Size = arrival.Size
	}
	return e
}

// sourceOf returns the name of the output that is the source.
func sourceOf(s workflow.Source) string {
	if s.Kind == workflow.SourceFuture {
		return s.Future.String()
	}
	return ""
}

// Inline reports whether the value travels in the description of the task, as small values do.
func (e Edge) Inline() bool { return e.Reason == channel.Inline }

// Text describes e in a line, such as "from train.model, local disk: same machine, 1.2 GiB,
// no copy". size formats a number of bytes.
func (e Edge) Text(size func(int64) string) string {
	var parts []string
	if e.From != "" {
		parts = append(parts, "from "+e.From)
	}
	c, why := e.Channel, e.Reason
	if e.Came != nil && e.Came.Channel != e.Channel {
		c, why = e.Came.Channel, ""
	}
	what := channelWords(c)
	switch {
	case why == channel.Inline:
		what = why
	case why != "":
		what += ": " + why
	}
	parts = append(parts, what)
	if e.Size > 0 || c != channel.Streaming { // the size of a stream is known at its end
		parts = append(parts, size(e.Size))
	}
	if e.Came != nil {
		parts = append(parts, e.Came.text(e.Reason, size)...)
	} else if e.Compression != channel.None {
		parts = append(parts, string(e.Compression))
	}
	return strings.Join(parts, ", ")
}

// channelWords returns the name of a transport for users.
func channelWords(c channel.Channel) string {
	switch c {
	case channel.Memory:
		return "memory"
	case channel.LocalDisk:
		return "local disk"
	case channel.Distributed:
		return "artifact store"
	case channel.Streaming:
		return "stream"
	}
	return string(c)
}

// text describes the arrival.
func (a *Arrival) text(reason string, size func(int64) string) []string {
	var parts []string
	switch {
	case a.Channel == channel.Streaming && a.Moved == 0:
		parts = append(parts, "through a pipe")
	case a.Moved > 0 && a.Compression != channel.None:
		parts = append(parts, fmt.Sprintf("%s through the network as %s", size(a.Moved), a.Compression))
	case a.Moved > 0:
		parts = append(parts, "fetched")
	case a.Copied > 0 && a.Note == "":
		parts = append(parts, "copied")
	case a.Copied == 0 && a.Channel != channel.Distributed:
		parts = append(parts, "no copy")
	case a.Copied == 0:
		parts = append(parts, "already on the machine")
	}
	if a.Note != "" && a.Note != reason {
		parts = append(parts, a.Note)
	}
	return parts
}
