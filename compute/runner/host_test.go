package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// TestSecretVariables: a variable has the value of a secret, which does not appear in the
// log.
func TestSecretVariables(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.server.secrets = map[string]string{"db.password": secretValue}
	seen := filepath.Join(t.TempDir(), "seen")
	spec := shell("variable", fmt.Sprintf(`printf %%s "$PASSWORD" > %s; echo "it is $PASSWORD"`, seen))
	spec.Secrets = []*flowforgev1.InputSecret{{Grant: &flowforgev1.SecretGrant{Name: "db.password", Mac: []byte("good")}, Variable: "PASSWORD"}}
	wantOutcome(t, b.run(t, spec), flowforgev1.Outcome_OUTCOME_SUCCEEDED)
	if got, err := os.ReadFile(seen); err != nil || string(got) != secretValue {
		t.Errorf("the task saw %q, %v", got, err)
	}
	if log := strings.Join(b.server.lines("variable", "stdout"), "\n"); log != "it is ***" {
		t.Errorf("the log says %q", log)
	}
}

// TestScratch: an attempt has its empty folders at their paths, paths with the same name
// share a folder, and the folders are removed afterwards.
func TestScratch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	base := t.TempDir()
	for _, id := range []string{"first", "second"} { // the second must not see files of the first
		spec := shell(id, fmt.Sprintf(`test -z "$(ls %[1]s/a)" && echo x > %[1]s/a/f && cat %[1]s/b/f && test ! -e %[1]s/c/f`, base))
		spec.Scratch = []*flowforgev1.Scratch{{Name: "work", Path: base + "/a"}, {Name: "work", Path: base + "/b"}, {Name: "other", Path: base + "/c"}}
		f := b.run(t, spec)
		wantOutcome(t, f, flowforgev1.Outcome_OUTCOME_SUCCEEDED)
	}
	left, err := os.ReadDir(base)
	if err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// TestMissingWorkFolder: the message names the folder, not the command.
func TestMissingWorkFolder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	spec := shell("nowhere", "true")
	spec.GetProcess().Folder = "/no/such/folder"
	f := b.run(t, spec)
	if !strings.Contains(f.Message, `the folder "/no/such/folder" does not exist`) {
		t.Errorf("the message is %q", f.Message)
	}
}
