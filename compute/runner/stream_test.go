package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/flowforge/flowforge/data/channel"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// AppendStream keeps the chunks of an output.
func (s *taskServer) AppendStream(_ context.Context, req *connect.Request[flowforgev1.AppendStreamRequest]) (*connect.Response[flowforgev1.AppendStreamResponse], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := req.Msg
	key := m.TaskId + "/" + m.Output
	if s.pieces == nil {
		s.pieces = map[string][]*flowforgev1.Blob{}
	}
	if int(m.Index) == len(s.pieces[key]) {
		s.pieces[key] = append(s.pieces[key], &flowforgev1.Blob{Sha256: m.Sha256, Size: m.Size})
	}
	close(s.changed)
	s.changed = make(chan struct{})
	return connect.NewResponse(&flowforgev1.AppendStreamResponse{}), nil
}

// FollowStream answers as the engine does, for attempts that are never repeated.
func (s *taskServer) FollowStream(ctx context.Context, req *connect.Request[flowforgev1.FollowStreamRequest]) (*connect.Response[flowforgev1.FollowStreamResponse], error) {
	for {
		answer, changed := s.stream(req.Msg)
		if answer.State != flowforgev1.StreamState_STREAM_STATE_WRITING || len(answer.Pieces) > 0 {
			return connect.NewResponse(answer), nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (s *taskServer) stream(m *flowforgev1.FollowStreamRequest) (*flowforgev1.FollowStreamResponse, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := &flowforgev1.FollowStreamResponse{State: flowforgev1.StreamState_STREAM_STATE_WRITING}
	answer.Pieces = slices.Clone(s.pieces[m.Writer+"/"+m.Output][m.Pieces:])
	f := s.finished[m.Writer]
	if f == nil {
		return answer, s.changed
	}
	answer.State, answer.Message = flowforgev1.StreamState_STREAM_STATE_GONE, "The writer failed."
	for _, o := range f.Outputs {
		if f.Outcome == succeeded && o.Name == m.Output {
			answer.State, answer.Whole = flowforgev1.StreamState_STREAM_STATE_ENDED, o.GetBlob()
		}
	}
	return answer, s.changed
}

// writes returns an attempt that writes the output rows.
func writes(id, script string) *flowforgev1.AttemptSpec {
	spec := shell(id, `cd "$FLOWFORGE_OUTPUTS"; `+script)
	spec.Outputs = []*flowforgev1.OutputSpec{{Name: "rows", Kind: "File", Storage: channel.HintStreaming}}
	return spec
}

// reads returns an attempt that reads rows of the attempt writer as its input x, at $f.
func reads(id, writer, script string) *flowforgev1.AttemptSpec {
	spec := shell(id, inputX+script)
	spec.InputsJson = `{"x": null}`
	spec.Files = []*flowforgev1.InputFile{{
		Input: "x", Pointer: "/x", Filename: "rows", Channel: string(channel.Streaming),
		Stream: &flowforgev1.StreamSource{TaskId: writer, Output: "rows"},
	}}
	return spec
}

func (b *testBundle) begin(t *testing.T, specs ...*flowforgev1.AttemptSpec) {
	t.Helper()
	for _, spec := range specs {
		if err := b.Start(spec); err != nil {
			t.Fatal(err)
		}
	}
}

// until returns shell text that waits for a file.
func until(path string) string { return `until [ -e '` + path + `' ]; do sleep 0.01; done; ` }

// inTurn returns a writer of five lines and a reader; the writer waits after each line
// until the reader has seen it.
func inTurn(dir string) (writer, reader string) {
	return `for n in 1 2 3 4 5; do echo $n >> rows; until [ -e '` + dir + `'/$n ]; do sleep 0.01; done; done`,
		`while read -r n; do touch '` + dir + `'/$n; echo $n; done < "$f"`
}

// TestStreamIsReadWhileItIsWritten: a writer that waits for its reader ends only if the
// reader reads concurrently. Two readers get the same data.
func TestStreamIsReadWhileItIsWritten(t *testing.T) {
	t.Parallel()
	b := setup(t)
	writer, reader := inTurn(t.TempDir())
	b.begin(t, writes("w", writer), reads("r", "w", reader), reads("r2", "w", `cat "$f"`))
	wantOutcome(t, b.server.awaitFinished(t, "w"), succeeded)
	for _, id := range []string{"r", "r2"} {
		f := b.server.awaitFinished(t, id)
		wantOutcome(t, f, succeeded)
		if got := strings.Join(b.server.lines(id, "stdout"), " "); got != "1 2 3 4 5" {
			t.Errorf("%s read %q", id, got)
		}
		if in := onlyInput(t, f); in.Channel != string(channel.Streaming) || in.Size != 10 || in.Moved != 0 || in.Copied != 0 || in.Micros <= 0 {
			t.Errorf("told %v", in)
		}
	}
}

// TestWriterDoesNotWaitForASlowReader: unread data is in the file and later in the store.
func TestWriterDoesNotWaitForASlowReader(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"with the store at hand", "through the server"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, dir := setup(t), t.TempDir()
			b.blobs.links = true
			slow := reads("slow", "w", until(dir+"/go")+`sha256sum < "$f" | cut -c1-64; test -p "$f" || sha256sum < "$f" | cut -c1-64`)
			if name == "with the store at hand" {
				slow.StoreDir = t.TempDir()
			}
			b.begin(t, writes("w", `i=0; while [ $i -lt 200000 ]; do echo "line $i, which is not the shortest"; i=$((i+1)); done > rows`), slow)
			w := b.server.awaitFinished(t, "w") // before any reader has read anything
			wantOutcome(t, w, succeeded)
			sha := w.Outputs[0].GetBlob().GetSha256()
			if slow.StoreDir != "" {
				b.server.mu.Lock()
				content := string(b.server.blobs[sha])
				b.server.mu.Unlock()
				store(t, slow.StoreDir, sha, content)
			}
			if err := os.WriteFile(dir+"/go", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			f := b.server.awaitFinished(t, "slow")
			wantOutcome(t, f, succeeded)
			want := []string{sha}
			if slow.StoreDir != "" {
				want = append(want, sha) // it can be opened again: the file has replaced the pipe
			}
			if got := b.server.lines("slow", "stdout"); !slices.Equal(got, want) {
				t.Errorf("read %v, want %v", got, want)
			}
		})
	}
}

// TestReaderThatComesLate: a late reader gets the complete file, as often as it opens it.
func TestReaderThatComesLate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	wantOutcome(t, b.run(t, writes("w", `echo early > rows.txt`)), succeeded)
	wantOutcome(t, b.run(t, reads("late", "w", `cat "$f"; sleep 0.1; cat "$f"`)), succeeded)
	if got := strings.Join(b.server.lines("late", "stdout"), " "); got != "early early" {
		t.Errorf("read %q", got)
	}
}

// TestReaderEndsAfterItsWriter: only then is it known that the reader has read the
// result.
func TestReaderEndsAfterItsWriter(t *testing.T) {
	t.Parallel()
	b, dir := setup(t), t.TempDir()
	b.begin(t, writes("w", `i=0; while [ $i -lt 300000 ]; do echo "line $i"; i=$((i+1)); done > rows; `+until(dir+"/go")), reads("r", "w", `head -n 1 "$f"`))
	b.server.await(t, "the first line", func() bool { return len(b.server.logs["r"]) > 0 })
	if err := os.WriteFile(dir+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w, r := b.server.awaitFinished(t, "w"), b.server.awaitFinished(t, "r")
	wantOutcome(t, w, succeeded)
	wantOutcome(t, r, succeeded)
	if r.FinishedAt < w.FinishedAt {
		t.Errorf("the reader ended %d ms before its writer", w.FinishedAt-r.FinishedAt)
	}
	if in := onlyInput(t, r); in.Size != w.Outputs[0].GetBlob().GetSize() {
		t.Errorf("looked at %d bytes of %d", in.Size, w.Outputs[0].GetBlob().GetSize())
	}
}

// TestStreamThatIsNoResult: a reader never reaches the end of data that its writer did
// not keep; it runs again.
func TestStreamThatIsNoResult(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, says string }{
		"its writer fails":         {`echo 1 > rows; UNTIL exit 3`, "The writer failed."},
		"it is changed afterwards": {`echo 1 > rows; UNTIL echo 2 > rows`, "differs from the writer's final output"},
		"it is another file":       {`echo 1 > rows; UNTIL rm rows; echo 2 > rows.txt`, "differs from the writer's final output"},
		"it becomes a folder":      {`echo 1 > rows; UNTIL rm rows; mkdir rows; echo 1 > rows/a`, "differs from the writer's final output"},
		"it is cut":                {`echo 1 > rows; UNTIL : > rows`, "differs from the writer's final output"},
		"it is removed":            {`echo 1 > rows; UNTIL rm rows`, "The writer failed."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, dir := setup(t), t.TempDir()
			b.begin(t, writes("w", strings.ReplaceAll(c.script, "UNTIL", until(dir+"/1"))), reads("r", "w", `while read -r n; do touch '`+dir+`'/$n; done < "$f"; echo end`))
			r := b.server.awaitFinished(t, "r")
			wantOutcome(t, r, interrupted)
			if r.Class != classStream || !strings.Contains(r.Message, c.says) {
				t.Errorf("class %q, %q", r.Class, r.Message)
			}
			if got := b.server.lines("r", "stdout"); len(got) > 0 {
				t.Errorf("the reader reached the end: %q", got)
			}
		})
	}
}

// TestReaderIsStopped: a reader stops while it waits for its writer, before and after its
// own end.
func TestReaderIsStopped(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{"reading": `cat "$f"; echo end`, "done": `head -n 1 "$f"`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.begin(t, writes("w", `echo 1 > rows; sleep 100`), reads("r", "w", script))
			b.server.await(t, "the first line", func() bool { return len(b.server.logs["r"]) > 0 })
			b.Stop([]string{"r"}, 0)
			wantOutcome(t, b.server.awaitFinished(t, "r"), flowforgev1.Outcome_OUTCOME_CANCELLED)
			if slices.Contains(b.server.lines("r", "stdout"), "end") {
				t.Error("the reader reached the end")
			}
			b.Stop([]string{"w"}, 0)
			b.server.awaitFinished(t, "w")
		})
	}
}

// TestReaderThatFails: a failing reader ends at once, whatever its writer does.
func TestReaderThatFails(t *testing.T) {
	t.Parallel()
	b, dir := setup(t), t.TempDir()
	b.begin(t, writes("w", `echo 1 > rows; `+until(dir+"/go")), reads("r", "w", `head -n 1 "$f"; exit 4`))
	f := b.server.awaitFinished(t, "r")
	if f.Outcome != flowforgev1.Outcome_OUTCOME_FAILED || f.ExitCode != 4 {
		t.Errorf("%v, exit %d", f.Outcome, f.ExitCode)
	}
	if err := os.WriteFile(dir+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, b.server.awaitFinished(t, "w"), succeeded)
}

// TestServerIsUnreachableWhileAStreamIsRead: the data continues to flow, and the end waits for
// the server.
func TestServerIsUnreachableWhileAStreamIsRead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	writer, reader := inTurn(t.TempDir())
	b.server.stop()
	b.begin(t, writes("w", writer), reads("r", "w", reader))
	deadline := time.After(time.Minute)
	for w := b.attemptCalled("w"); ; w = b.attemptCalled("w") {
		if w == nil {
			t.Fatal("the writer was delivered")
		}
		if w.ended.Load() {
			break
		}
		select {
		case <-deadline:
			t.Fatal("the writer waits for its reader")
		case <-time.After(10 * time.Millisecond): // no signal exists while the server is unreachable
		}
	}
	b.server.listen(t)
	wantOutcome(t, b.server.awaitFinished(t, "w"), succeeded)
	wantOutcome(t, b.server.awaitFinished(t, "r"), succeeded)
}

func (s *Supervisor) attemptCalled(id string) *attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.attempts[id]
}

// TestStreamBetweenPods: streams between pods go through the store chunk by chunk.
func TestStreamBetweenPods(t *testing.T) {
	t.Parallel()
	server := newTaskServer(t)
	b := &testBundle{server: server}
	dir := t.TempDir()
	writer, _ := inTurn(dir)
	large := `i=0; while [ $i -lt 200000 ]; do echo "line $i, which is not the shortest"; i=$((i+1)); done >> rows`
	reader := `{ for k in 1 2 3 4 5; do read -r n; touch '` + dir + `'/$n; done; cat | wc -l; } < "$f"; if test -e "$f"; then echo there; fi`
	for _, spec := range []*flowforgev1.AttemptSpec{writes("w", writer+`; `+large), reads("r", "w", reader)} {
		s := inPod(t, server, Pod{Grace: 20 * time.Second}, time.Hour)
		t.Cleanup(s.Close)
		go func() { _, _ = s.runOne(t.Context(), spec) }()
	}
	wantOutcome(t, b.server.awaitFinished(t, "w"), succeeded)
	f := b.server.awaitFinished(t, "r")
	wantOutcome(t, f, succeeded)
	if got := fmt.Sprint(server.lines("r", "stdout")); got != "[200000]" {
		t.Errorf("read %s", got)
	}
	in := onlyInput(t, f)
	if in.Channel != string(channel.Streaming) || in.Moved <= 0 {
		t.Errorf("told %v", in)
	}
	server.mu.Lock()
	defer server.mu.Unlock()
	if n := len(server.pieces["w/rows"]); n < 5 {
		t.Errorf("it arrived in %d chunks", n)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "piece-*")); len(left) > 0 {
		t.Errorf("pieces are left: %v", left)
	}
}
