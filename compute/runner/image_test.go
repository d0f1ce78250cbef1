package runner

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// TestImageCommandRule: arguments follow ENTRYPOINT and replace CMD.
func TestImageCommandRule(t *testing.T) {
	t.Parallel()
	both := &ImageCommand{Entrypoint: []string{"/entry", "--"}, Cmd: []string{"serve", "all"}}
	for name, c := range map[string]struct {
		image *ImageCommand
		args  []string
		want  []string
		err   error
	}{
		"both":              {both, nil, []string{"/entry", "--", "serve", "all"}, nil},
		"both, arguments":   {both, []string{"one"}, []string{"/entry", "--", "one"}, nil},
		"CMD alone":         {&ImageCommand{Cmd: []string{"sh"}}, nil, []string{"sh"}, nil},
		"CMD and arguments": {&ImageCommand{Cmd: []string{"sh"}}, []string{"ls", "-l"}, []string{"ls", "-l"}, nil},
		"ENTRYPOINT alone":  {&ImageCommand{Entrypoint: []string{"/entry"}}, nil, []string{"/entry"}, nil},
		"nothing":           {&ImageCommand{}, nil, nil, errEmptyImage},
		"arguments alone":   {&ImageCommand{}, []string{"/bin/app"}, []string{"/bin/app"}, nil},
		"unknown":           {nil, nil, nil, errNoImage},
		"unknown, args":     {nil, []string{"ls"}, nil, errNoImage},
	} {
		got, err := c.image.with(c.args)
		if diff := cmp.Diff(c.want, got); diff != "" || err != c.err { //nolint:errorlint // compares identity
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

// imageAttempt returns an attempt without a command.
func imageAttempt(id string, args ...string) *flowforgev1.AttemptSpec {
	spec := argv(id, args...)
	spec.GetProcess().ImageCommand, spec.GetProcess().ImageFolder = true, true
	return spec
}

// TestImageCommandInPod: the image's default command runs in the image's working
// directory with the image's environment, without the variable that passed it to the
// runner.
func TestImageCommandInPod(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	script := "#!/bin/sh\npwd\necho \"$@\"\nenv | grep -c ^FLOWFORGE_IMAGE_COMMAND\ntrue\n"
	if err := os.WriteFile(filepath.Join(folder, "app"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"cmd":  {nil, []string{folder, "--port 80", "0"}},
		"args": {[]string{"--port", "90"}, []string{folder, "--port 90", "0"}},
	} {
		server := newTaskServer(t)
		s := inPod(t, server, Pod{Folder: folder, Image: &ImageCommand{Entrypoint: []string{"./app"}, Cmd: []string{"--port", "80"}}}, oftenBeats)
		end, err := s.runOne(t.Context(), imageAttempt(name, c.args...))
		if err != nil {
			t.Fatal(err)
		}
		wantOutcome(t, end.Finished, flowforgev1.Outcome_OUTCOME_SUCCEEDED)
		if diff := cmp.Diff(c.want, server.lines(name, "stdout")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestNamedCommandInImageFolder: an explicit command also runs in the image's working
// directory if the document requests it, unless that is / and not writable.
func TestNamedCommandInImageFolder(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	server := newTaskServer(t)
	s := inPod(t, server, Pod{Folder: folder}, oftenBeats)
	spec := shell("named", "pwd")
	spec.GetProcess().ImageFolder = true
	if _, err := s.runOne(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	if got := server.lines("named", "stdout"); len(got) != 1 || got[0] != folder {
		t.Errorf("it ran in %q, want %q", got, folder)
	}
	root := &Pod{Folder: "/"}
	if got := root.runsIn(false); got != writable("/") {
		t.Errorf("an explicit command runs in /: %v", got)
	}
	if !root.runsIn(true) || (&Pod{}).runsIn(true) {
		t.Error("an image's default command runs in / only when the image says so")
	}
}

// TestImageCommandIsUnknown: outside of pods, the default command of an image is unknown.
func TestImageCommandIsUnknown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	end := b.run(t, imageAttempt("unknown", "ls"))
	wantOutcome(t, end, flowforgev1.Outcome_OUTCOME_START_FAILED)
	if !strings.Contains(end.Message, "set command") {
		t.Errorf("it says %q", end.Message)
	}
}

// TestMembersOfImages: a member without a command runs the default command of its
// container's image, and no member sees the variable that passed it.
func TestMembersOfImages(t *testing.T) {
	t.Parallel()
	members := Members{Lead: true, Main: "main", All: []string{"main"}, Run: []Member{{Name: "main", Image: true, Command: []string{"-c", "echo said; env | grep -c IMAGE_COMMAND; true"}}}}
	var out, errs bytes.Buffer
	environ := []string{"PATH=" + os.Getenv("PATH"), ImageVariable + `={"entrypoint":["/bin/sh"],"cmd":["-c","exit 3"]}`}
	code, err := RunMembers(t.Context(), members, environ, &out, &errs)
	if err != nil || code != 0 || out.String() != "said\n0\n" {
		t.Errorf("%d, %v: %q %q", code, err, out.String(), errs.String())
	}
	members.Run[0].Command = nil
	if code, err = RunMembers(t.Context(), members, environ, &out, &errs); err != nil || code != 3 {
		t.Errorf("CMD of the image: %d, %v: %q", code, err, errs.String())
	}
	errs.Reset()
	code, err = RunMembers(t.Context(), members, environ[:1], &out, &errs)
	if err != nil || code != failedMember || !strings.Contains(errs.String(), "set command") {
		t.Errorf("unknown: %d, %v: %q", code, err, errs.String())
	}
	if _, err = RunMembers(t.Context(), members, []string{ImageVariable + "=["}, &out, &errs); err == nil {
		t.Error("an invalid variable is accepted")
	}
}

// TestLeadOfImages: only the command of an attempt with several members gets the image's
// default command.
func TestLeadOfImages(t *testing.T) {
	t.Parallel()
	for id, arrival := range map[string]bool{"lead": true, "own": false} {
		server := newTaskServer(t)
		pod := Pod{Folder: "/", Image: &ImageCommand{Entrypoint: []string{"sh", "-c"}}}
		s := inPod(t, server, pod, oftenBeats)
		script := `echo "is $FLOWFORGE_IMAGE_COMMAND"`
		spec := shell(id, script)
		if !arrival {
			spec = imageAttempt(id, script)
		}
		if _, err := s.runOne(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
		want := "is "
		if arrival {
			want = `is {"entrypoint":["sh","-c"]}`
		}
		if got := server.lines(id, "stdout"); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}
