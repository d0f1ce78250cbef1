package runner

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

const secretValue = `hush/"hush"+4711`

// GetSecrets returns what was granted with the mac "good" to the right attempt.
func (s *taskServer) GetSecrets(_ context.Context, req *connect.Request[flowforgev1.GetSecretsRequest]) (*connect.Response[flowforgev1.GetSecretsResponse], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if req.Header().Get("Authorization") != "Bearer token-"+req.Msg.TaskId {
		return nil, connect.NewError(connect.CodeUnauthenticated, fmt.Errorf("the token is not valid"))
	}
	if s.silentStore > 0 {
		s.silentStore--
		return nil, connect.NewError(connect.CodeUnavailable, fmt.Errorf("The secret store did not return the path team/db: it is not reachable."))
	}
	resp := &flowforgev1.GetSecretsResponse{}
	for _, g := range req.Msg.Grants {
		value, ok := s.secrets[g.Name]
		if !ok || string(g.Mac) != "good" {
			return nil, connect.NewError(connect.CodeNotFound, fmt.Errorf("There is no secret called %q.", g.Name))
		}
		resp.Values = append(resp.Values, value)
	}
	return connect.NewResponse(resp), nil
}

func secretive(id, script string, names ...string) *flowforgev1.AttemptSpec {
	spec := shell(id, script)
	marks := make([]string, len(names))
	for i, name := range names {
		marks[i] = fmt.Sprintf(`"k%d":{"$secret":%q}`, i, name)
		spec.Secrets = append(spec.Secrets, &flowforgev1.InputSecret{
			Grant: &flowforgev1.SecretGrant{Name: name, Mac: []byte("good")}, Pointer: fmt.Sprintf("/k%d", i),
		})
	}
	spec.InputsJson = "{" + strings.Join(marks, ",") + "}"
	return spec
}

// TestSecretsReachTheTaskAlone: inputs and environment hold the value while the task
// runs; afterwards neither the runner's files nor its reports do.
func TestSecretsReachTheTaskAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.server.secrets = map[string]string{"tracker": secretValue}
	seen := filepath.Join(t.TempDir(), "seen")
	spec := secretive("a", fmt.Sprintf(`
		printf '%%s\n' "$FLOWFORGE_PARAM_K0" > %[1]s; cat "$FLOWFORGE_INPUTS" >> %[1]s; ls -l "$FLOWFORGE_INPUTS" | cut -c1-10 >> %[1]s
		echo "plain $FLOWFORGE_PARAM_K0"; printf 'Basic %%s\n' "$(printf 'me:%%s' "$FLOWFORGE_PARAM_K0" | base64)"
		cat "$FLOWFORGE_INPUTS" >&2; echo "$FLOWFORGE_PARAM_K0" > "$FLOWFORGE_OUTPUTS/text"
		echo "no good: $FLOWFORGE_PARAM_K0" >&2; exit ${CODE:-0}`, seen), "tracker")
	spec.Outputs = []*flowforgev1.OutputSpec{{Name: "text", Kind: "String", Inline: true}}
	f := b.run(t, spec)
	wantOutcome(t, f, flowforgev1.Outcome_OUTCOME_SUCCEEDED)
	got, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	if want := secretValue + "\n" + `{"k0":"hush/\"hush\"+4711"}` + "-rw-------\n"; string(got) != want {
		t.Errorf("the task saw %q, not %q", got, want)
	}
	if v := f.Outputs[0].GetValue(); v != `"***"` {
		t.Errorf("output %s", v)
	}
	failing := secretive("b", `echo "no good: $FLOWFORGE_PARAM_K0" >&2; exit 3`, "tracker")
	arrival := b.run(t, failing).Message + strings.Join(append(b.server.lines("a", "stdout"), b.server.lines("a", "stderr")...), "\n") +
		strings.Join(b.server.lines("b", "stderr"), "\n")
	for _, form := range []string{secretValue, "4711", base64.StdEncoding.EncodeToString([]byte("me:" + secretValue))[4:14]} {
		if strings.Contains(arrival, form) {
			t.Errorf("%q is reported in %s", form, arrival)
		}
	}
	if n := strings.Count(arrival, "***"); n != 6 {
		t.Errorf("%d marks in %s", n, arrival)
	}
	b.noTrace(t, secretValue)
}

// noTrace checks that no file of the runner contains value.
func (b *testBundle) noTrace(t *testing.T, value string) {
	t.Helper()
	err := filepath.WalkDir(b.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // removed in the meantime
		}
		content, err := os.ReadFile(path)
		if err == nil && bytes.Contains(content, []byte(value)) {
			t.Errorf("%s holds the secret", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSplitSecretsAreMasked: secrets are masked when they are written in two pieces, and
// when a long line is split.
func TestSplitSecretsAreMasked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.server.secrets = map[string]string{"tracker": secretValue, "long": strings.Repeat("0a1b2c3d", 40)}
	spec := secretive("a", `
		s="$FLOWFORGE_PARAM_K0"; half="${s%4711}"
		printf 'one %s' "$half"; printf '4711 two\n'
		head -c 65530 /dev/zero | tr '\0' x; printf '%s' "$half"; printf '4711%s\n' "$FLOWFORGE_PARAM_K1"`, "tracker", "long")
	wantOutcome(t, b.run(t, spec), flowforgev1.Outcome_OUTCOME_SUCCEEDED)
	lines := b.server.lines("a", "stdout")
	if lines[0] != "one *** two" {
		t.Errorf("%q", lines[0])
	}
	rest := strings.TrimLeft(strings.Join(lines[1:], ""), "x")
	if len(lines) < 3 || rest != "******" {
		t.Errorf("%d lines, the rest is %q", len(lines), rest)
	}
}

func TestASecretThatIsGoneFailsTheStart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.server.secrets = map[string]string{"tracker": secretValue}
	f := b.run(t, secretive("a", "true", "deleted"))
	wantOutcome(t, f, flowforgev1.Outcome_OUTCOME_START_FAILED)
	if !strings.Contains(f.Message, `no secret called "deleted"`) {
		t.Error(f.Message)
	}
	forged := secretive("b", "true", "tracker")
	forged.Secrets[0].Grant.Mac = []byte("forged")
	wantOutcome(t, b.run(t, forged), flowforgev1.Outcome_OUTCOME_START_FAILED)
	spec := secretive("c", "true", "tracker")
	spec.Token = "token-a"
	wantOutcome(t, b.run(t, spec), flowforgev1.Outcome_OUTCOME_START_FAILED)
}

// TestAnAttemptWaitsForItsSecrets: the command starts when the store is back, with the value, and the
// log says why it waited.
func TestAnAttemptWaitsForItsSecrets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.server.secrets, b.server.silentStore = map[string]string{"tracker": secretValue}, 3
	f := b.run(t, secretive("a", `[ "${#FLOWFORGE_PARAM_K0}" = 16 ] || exit 3; echo started`, "tracker"))
	wantOutcome(t, f, flowforgev1.Outcome_OUTCOME_SUCCEEDED)
	system := b.server.lines("a", "system")
	if n := strings.Count(strings.Join(system, "\n"), "The attempt waits for its secrets. The secret store did not return the path team/db: it is not reachable."); n != 1 {
		t.Errorf("%d notes in %q", n, system)
	}
}

// TestInputsOfADeadRunnerAreRemoved: the next runner removes the inputs of a killed one.
func TestInputsOfADeadRunnerAreRemoved(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Close()
	p := b.slots.paths(filepath.Join(b.slots.dir, "99"))
	if err := os.MkdirAll(p.base, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.inputs, []byte(`{"k":"`+"kept-too-long"+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	b.open(t)
	b.noTrace(t, "kept-too-long")
}
