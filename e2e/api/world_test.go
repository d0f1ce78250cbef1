package api

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// world names what the server has, so that generated requests find it: values by the name
// of a dictionary of schemathesis.
type world map[string][]string

// definition is a workflow with a node that fails permanently if its input requests it.
const definition = `{
	"name": "api.tested", "version": "1.0.0", "owner_team": "tests", "tags": ["tested"],
	"inputs": [{"name": "exit", "type": "Integer(min=0, max=1)", "default": 0}],
	"outputs": [{"name": "answer", "type": "Integer", "from": "work.answer"}],
	"operators": [
		{"name": "start", "type": "noop"},
		{"name": "work", "type": "shell", "depends_on": ["start"],
			"inputs": [{"name": "exit", "type": "Integer", "from": "inputs.exit"}], 
			"outputs": [{"name": "answer", "type": "Integer"}, {"name": "table", "type": "Dataset(format=\"csv\")"}],
			"breaker": true,
			"code": {"script": "echo working; echo 42 > \"$FLOWFORGE_OUTPUTS/answer\"; echo a,b > \"$FLOWFORGE_OUTPUTS/table\"; exit \"$FLOWFORGE_PARAM_EXIT\""},
			"resources": {"cpu": "50m", "memory": "16Mi"}}
	]
}`

// makeWorld makes one thing of each kind that paths name.
func makeWorld(t *testing.T, s *server) world {
	t.Helper()
	workflow := s.post(t, "/workflows", definition)
	w := world{
		"workflows": {"api.tested", text(t, workflow, "workflow_id")}, "versions": {"1.0.0", "latest"},
		"nodes": {"start", "work"}, "types": {"Integer", "Model", "TestedCount"}, "entries": {"tested@1", "tested"},
		"templates": {"tested"}, "secrets": {"tested"},
	}
	for _, exit := range []int{0, 1} {
		run := s.post(t, "/executions", fmt.Sprintf(`{"workflow": "api.tested", "inputs": {"exit": %d}}`, exit))
		id := text(t, run, "execution_id")
		s.finish(t, id)
		w["executions"] = append(w["executions"], id)
	}
	w["dead_letters"] = ids(t, s.get(t, "/dead-letters")["dead_letters"], "id")
	w["breakers"] = ids(t, s.get(t, "/breakers")["breakers"], "id")
	w["artifacts"] = ids(t, s.get(t, "/artifacts")["artifacts"], "artifact_id")
	s.post(t, "/types", `{"type_name": "TestedCount", "extends": "Integer", "schema": {"min": 0}}`)
	s.post(t, "/templates", `{"name": "tested", "version": "1.0.0", "type": "shell", "code": {"script": "true"}}`)
	s.send(t, http.MethodPut, "/secrets/tested", `{"value": "a secret of tests"}`, http.StatusOK)
	for shelf, facts := range map[string]string{
		"/datasets": `"format": "csv"`, "/models": `"framework": "pytorch"`,
		"/feature-store/feature-sets": `"entity_key": "user", "features": [{"name": "age", "dtype": "int64"}]`,
	} {
		s.post(t, shelf, `{"name": "tested", "version": "1", "uri": "s3://tested/data", `+facts+`}`)
	}
	w["pools"] = []string{text(t, s.post(t, "/pools", `{"name": "tested"}`), "name")}
	w["pool_tokens"] = []string{text(t, s.post(t, "/pools/tested/tokens", ""), "id")}
	w["digests"] = []string{text(t, s.post(t, "/blobs?filename=tested.csv", "a,b\n"), "$file")}
	w["keys"] = []string{text(t, s.post(t, "/keys", `{"name": "tested"}`), "key_id")}
	w["users"] = []string{text(t, s.get(t, "/me"), "user_id")}
	makeTree(t, s, w)
	for name, values := range w {
		require.NotEmpty(t, values, name)
	}
	return w
}

// makeTree makes a tenant down to a project, each with a member, and a service account.
func makeTree(t *testing.T, s *server, w world) {
	t.Helper()
	parent := ""
	for _, kind := range []string{"tenants", "departments", "teams", "projects"} {
		n := s.post(t, "/"+kind, `{"name": "tested"`+parent+`}`)
		id := text(t, n, "id")
		w[kind] = []string{id}
		parent = fmt.Sprintf(`, "parent_id": %q`, id)
		m := s.post(t, "/"+kind+"/"+id+"/members", fmt.Sprintf(`{"user_id": %q, "role": "Viewer"}`, w["users"][0]))
		w["members_of_"+kind] = []string{text(t, m, "id")}
	}
	account := s.post(t, "/projects/"+w["projects"][0]+"/service-accounts", `{"name": "tested", "role": "Viewer"}`)
	w["accounts"] = []string{text(t, account, "id")}
}

// ids are the values of a property in a list of objects.
func ids(t *testing.T, list any, name string) []string {
	t.Helper()
	var out []string
	for _, o := range list.([]any) {
		out = append(out, text(t, o.(object), name))
	}
	return out
}

func text(t *testing.T, o object, name string) string {
	t.Helper()
	v, ok := o[name].(string)
	require.True(t, ok, "%s is missing in %v", name, o)
	return v
}
