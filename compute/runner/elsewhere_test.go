package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// outputsByName returns the inline values of an ending as JSON.
func outputsByName(f *flowforgev1.Finished) map[string]string {
	values := map[string]string{}
	for _, o := range f.Outputs {
		values[o.Name] = o.GetValue()
	}
	return values
}

func TestOutputsElsewhere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	folder := t.TempDir()
	old := filepath.Join(folder, "old")
	if err := os.WriteFile(old, []byte("of yesterday"), 0o644); err != nil {
		t.Fatal(err)
	}
	yesterday := time.Now().Add(-24 * time.Hour)
	if err := os.Chtimes(old, yesterday, yesterday); err != nil {
		t.Fatal(err)
	}
	spec := shell("elsewhere", fmt.Sprintf(`echo '"quoted"'; echo two; printf 'a\n\n' > %s/text; mkdir %s/tree; echo x > %s/tree/x`, folder, folder, folder))
	spec.Outputs = []*flowforgev1.OutputSpec{
		{Name: "result", Kind: "String", Inline: true, Stdout: true},
		{Name: "text", Kind: "String", Inline: true, Path: folder + "/text"},
		{Name: "absent", Kind: "String", Inline: true, Path: folder + "/absent"},
		{Name: "old", Kind: "String", Inline: true, Path: old},
		{Name: "tree", Kind: "File", Path: folder + "/tree"},
	}
	f := b.run(t, spec)
	wantOutcome(t, f, succeeded)
	values := outputsByName(f)
	if values["result"] != `"\"quoted\"\ntwo"` || values["text"] != `"a\n"` {
		t.Errorf("outputs are %v", values)
	}
	if len(f.Outputs) != 3 {
		t.Errorf("%d outputs: missing and older files are not outputs", len(f.Outputs))
	}
	for _, o := range f.Outputs {
		if o.Name == "tree" && o.GetBlob().GetMediaType() != DirectoryMediaType {
			t.Errorf("the folder is %v", o.GetBlob())
		}
	}
}

func TestResultIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	spec := shell("long", `i=0; while [ $i -lt 6000 ]; do echo 0123456789012345678901234567890123456789012345678; i=$((i+1)); done`)
	spec.Outputs = []*flowforgev1.OutputSpec{{Name: "result", Kind: "String", Inline: true, Stdout: true}}
	f := b.run(t, spec)
	b.server.awaitLog(t, "long")
	wantOutcome(t, f, succeeded)
	if n := len(f.Outputs[0].GetValue()); n < maxResult || n > 2*maxResult {
		t.Errorf("the result has %d bytes", n)
	}
	if notes := strings.Join(b.server.lines("long", "system"), "\n"); !strings.Contains(notes, "256 KiB") {
		t.Errorf("no note about the truncation: %s", notes)
	}
	if !f.Outputs[0].Truncated {
		t.Error("the result is not marked as truncated")
	}
}

// TestMaskedResultIsTruncated: a result that masking has made short is still marked as the
// beginning of a longer one.
func TestMaskedResultIsTruncated(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.server.secrets = map[string]string{"tracker": secretValue}
	spec := secretive("masked", `yes "$FLOWFORGE_PARAM_K0" | head -n 20000`, "tracker")
	spec.Outputs = []*flowforgev1.OutputSpec{{Name: "result", Kind: "String", Inline: true, Stdout: true}}
	f := b.run(t, spec)
	wantOutcome(t, f, succeeded)
	if o := f.Outputs[0]; len(o.GetValue()) >= maxResult || !o.Truncated {
		t.Errorf("%d bytes, truncated: %t", len(o.GetValue()), o.Truncated)
	}
}

func TestInputsElsewhere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	folder := t.TempDir()
	place := folder + "/in/message"
	spec := shell("inputs", fmt.Sprintf(`cat %s; pwd`, place))
	spec.InputsJson = `{"artifacts.message": {}}`
	spec.Files = []*flowforgev1.InputFile{{Input: "message", Text: "hello\n", Pointer: "/artifacts.message", Path: place, Mode: 0o755}}
	spec.GetProcess().Folder = folder
	f := b.run(t, spec)
	wantOutcome(t, f, succeeded)
	if lines := b.server.lines("inputs", "stdout"); len(lines) != 2 || lines[0] != "hello" || lines[1] != folder {
		t.Errorf("the command said %v", lines)
	}
	if _, err := os.Lstat(place); err == nil {
		t.Error("the link still exists after the end of the attempt")
	}
}

// Attempts with an output at the same path do not mix their outputs.
func TestSamePathTakesTurns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	path := t.TempDir() + "/out"
	specs := make([]*flowforgev1.AttemptSpec, 4)
	for i := range specs {
		specs[i] = shell(fmt.Sprintf("turn%d", i), fmt.Sprintf(`echo %d > %s; sleep 0.05`, i, path))
		specs[i].Outputs = []*flowforgev1.OutputSpec{{Name: "v", Kind: "String", Inline: true, Path: path}}
	}
	for _, spec := range specs {
		if err := b.Start(spec); err != nil {
			t.Fatal(err)
		}
	}
	for i := range specs {
		f := b.server.awaitFinished(t, specs[i].TaskId)
		wantOutcome(t, f, succeeded)
		if got := outputsByName(f)["v"]; got != fmt.Sprintf(`"%d"`, i) {
			t.Errorf("attempt %d got %s", i, got)
		}
	}
}

func TestScriptWithItsOwnCommand(t *testing.T) {
	t.Parallel()
	b := setup(t)
	spec := argv("script")
	spec.Work = &flowforgev1.AttemptSpec_Process{Process: &flowforgev1.Process{Command: []string{"sh", "-e"}, Script: "echo $0 | grep -c script"}}
	wantOutcome(t, b.run(t, spec), succeeded)
}
