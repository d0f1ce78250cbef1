package handlers_test

import (
	"cmp"
	"encoding/hex"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
)

// leakRequests: -args -leak.requests=100000 sends them all, in about a minute.
var leakRequests = flag.Int("leak.requests", 10_000, "requests with random and foreign ids")

// probe is a request that names something, in braces, which its caller has no
// right to see.
type probe struct {
	method, path, media, body string
	header                    string // carries {project}
}

// probes are the requests of the matrix that name an object, and everything else
// that takes the id, the hash or the name of something.
func probes() []probe {
	var all []probe
	for _, r := range matrix() {
		if r.names && r.guard == signIn {
			all = append(all, r.probe())
		}
	}
	get := func(paths ...string) {
		for _, path := range paths {
			all = append(all, probe{method: http.MethodGet, path: path})
		}
	}
	get("/executions?workflow={flow id}", "/executions?workflow={flow}", "/executions?user={user}", "/executions?user={user id}",
		"/executions?q={execution}", "/artifacts?execution={execution}", "/artifacts?workflow={flow}", "/artifacts?q={sha}",
		"/search?q={execution}", "/search?q={flow}", "/search?q={sha}", "/projects?q={project}", "/workflows?q={flow}",
		"/typeahead?type=Model&q={model}", "/typeahead/preview?type=Model&ref={model}", "/typeahead/preview?type=Report&ref={artifact}",
		"/workflows/asks/launch?from={execution}", "/workflows/asks/launch?version={execution}",
		"/api/v1/executions?workflow={flow}", "/api/v1/executions?workflow={flow id}&user={user}", "/api/v1/executions?q={execution}",
		"/api/v1/artifacts?workflow={flow}", "/api/v1/datasets?q={dataset}", "/api/v1/feature-store/features?q={features}",
		"/api/v1/executions?project={project}", "/api/v1/workflows?project={project}", "/api/v1/workflows?q={flow}&team={team}")
	all = append(all, probe{method: http.MethodGet, path: "/api/v1/workflows", header: "{project}"}, probe{method: http.MethodGet, path: "/", header: "{project}"})
	post := func(path, body string) {
		all = append(all, probe{method: http.MethodPost, path: "/api/v1" + path, media: "application/json", body: body})
	}
	for _, reference := range []string{`{"$artifact": "{artifact}"}`, `{"$file": "{sha}", "name": "x"}`, `{"$catalogue": "{model}"}`} {
		post("/executions", `{"workflow": "asks", "inputs": {"model": `+reference+`}}`)
	}
	post("/datasets", `{"name": "taken", "version": "1", "file": {"$file": "{sha}"}}`)
	post("/workflows", `{"name": "taken", "version": "1.0.0", "operators": [{"name": "x", "type": "shell", "code": {"script": "true", "package": "sha256:{sha}"}}]}`)
	post("/workflows", `{"name": "taken", "version": "1.0.0", "inputs": [{"name": "x", "type": "{type}"}], "operators": [{"name": "x", "type": "noop"}]}`)
	return all
}

// probe is the row with its places in braces.
func (r row) probe() probe {
	places := strings.NewReplacer(auth.LocalTenant.String(), "{tenant}", auth.LocalTeam.String(), "{team}", auth.LocalProject.String(), "{project}")
	return probe{method: r.method(), path: places.Replace(r.path), media: r.media, body: places.Replace(r.body)}
}

// modelDocument takes a model.
const modelDocument = `
name: asks
version: 1.0.0
inputs: [{name: model, type: Model}]
operators: [{name: wait, type: noop}]
`

// leakSide is a tenant with one object of each kind, and its administrator.
type leakSide struct {
	caller  *caller
	objects map[string]string // by their names in braces
}

// leakSides are two isolated tenants.
func leakSides(t *testing.T, b *testBundle) [2]leakSide {
	t.Helper()
	other, project := b.tenant(t, "elsewhere")
	var sides [2]leakSide
	for i, place := range [2][2]uuid.UUID{{auth.LocalTenant, auth.LocalProject}, {other, project}} {
		b.actIn(t, place[0], place[1])
		name := [2]string{"mine", "theirs"}[i]
		pairs := matrixObjects(t, b, name)
		b.register(t, modelDocument)
		user := b.person(t, "admin-of-"+name, auth.TenantAdmin, place[0])
		sides[i] = leakSide{caller: b.signIn(t, user), objects: map[string]string{"{user}": "admin-of-" + name, "{user id}": user.String()}}
		for k := 0; k < len(pairs); k += 2 {
			sides[i].objects[pairs[k]] = pairs[k+1]
		}
		own := strings.NewReplacer(pairs...).Replace("{second}")
		sides[i].objects["{own}"], sides[i].objects["{second own}"] = own, own
	}
	return sides
}

// invented are objects that do not exist, in the format of real ones.
func invented(real map[string]string) map[string]string {
	out := make(map[string]string, len(real))
	for name, value := range real {
		switch {
		case name == "{sha}":
			var b [32]byte
			for i := range b {
				b[i] = byte(rand.Uint32())
			}
			out[name] = hex.EncodeToString(b[:])
		case uuid.Validate(value) == nil:
			out[name] = uuid.Must(uuid.NewV7()).String()
		default:
			head, version, _ := strings.Cut(value, "@")
			out[name] = fmt.Sprintf("x%0*x", len(head)-1, rand.Uint64N(1<<40))
			if version != "" {
				out[name] += "@" + version
			}
		}
	}
	out["{net}"], _, _ = strings.Cut(out["{model}"], "@") // as in real objects: messages name both
	return out
}

// answer sends a probe to the site and returns the complete response, without the requested
// values and the parts that differ between any two responses.
func (p probe) answer(site http.Handler, c *caller, objects map[string]string) string {
	var pairs []string
	for name, value := range objects {
		pairs = append(pairs, name, value)
	}
	fill := strings.NewReplacer(pairs...)
	r := httptest.NewRequest(p.method, fill.Replace(p.path), strings.NewReader(fill.Replace(p.body)))
	maps.Copy(r.Header, c.header)
	if p.media != "" {
		r.Header.Set("Content-Type", p.media)
	}
	if p.header != "" {
		r.Header.Set("X-FlowForge-Project", fill.Replace(p.header))
	}
	w := httptest.NewRecorder()
	site.ServeHTTP(w, r)
	text := fmt.Sprintln(w.Code)
	names := make([]string, 0, len(w.Header()))
	for name := range w.Header() {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		text += name + ": " + strings.Join(w.Header()[name], ", ") + "\n"
	}
	text += w.Body.String()
	nonce := ""
	if _, after, ok := strings.Cut(w.Header().Get("Content-Security-Policy"), "'nonce-"); ok {
		nonce, _, _ = strings.Cut(after, "'")
	}
	hide := []string{w.Header().Get("X-Request-Id"), "REQUEST"}
	if nonce != "" {
		hide = append(hide, nonce, "NONCE")
	}
	values := slices.Collect(maps.Values(objects))
	slices.SortFunc(values, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // a name can begin another value
	for _, value := range values {
		hide = append(hide, value, "VALUE", url.QueryEscape(value), "VALUE", url.PathEscape(value), "VALUE")
		if uuid.Validate(value) == nil {
			hide = append(hide, value[len(value)-6:], "VALUE") // as pages shorten ids
		}
		if len(value) == 64 {
			hide = append(hide, value[:53], "VALUE") // and messages hashes
		}
	}
	return strings.NewReplacer(hide...).Replace(text)
}

// TestIdsOfOthersLeakNothing: the response to an object of another tenant has the same status,
// headers and body as the response to an unknown id. (Times are not compared.)
func TestIdsOfOthersLeakNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sides := leakSides(t, b)
	all := probes()
	baselines := make([][2]string, len(all))
	for i, p := range all {
		for k := range sides {
			baselines[i][k] = p.answer(b.routes, sides[k].caller, invented(sides[1-k].objects))
			require.NotContains(t, baselines[i][k], "500\n", p.path)
		}
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	var once sync.Once
	for range 4 {
		wg.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				if n >= *leakRequests || t.Failed() {
					return
				}
				i, k := n/2%len(all), n%2
				foreign := sides[1-k].objects
				if n/2/len(all)%2 == 1 { // every other round uses unknown ids
					foreign = invented(foreign)
				}
				if got := all[i].answer(b.routes, sides[k].caller, foreign); got != baselines[i][k] {
					once.Do(func() { // one difference is enough to read
						ours, nobodys := difference(got, baselines[i][k])
						t.Errorf("%s %s %s answers\n%s\nand for an unknown id\n%s", all[i].method, all[i].path, all[i].body, ours, nobodys)
					})
				}
			}
		})
	}
	wg.Wait()
}

// difference is the first line in which two answers differ.
func difference(a, b string) (string, string) {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			from := 0
			for from < min(len(x[i]), len(y[i])) && x[i][from] == y[i][from] {
				from++
			}
			from = max(0, from-100)
			return x[i][from:min(len(x[i]), from+400)], y[i][from:min(len(y[i]), from+400)]
		}
	}
	return fmt.Sprint(len(x), " lines"), fmt.Sprint(len(y), " lines")
}

// TestOwnIdsAnswer: the probes find existing objects. For its own users, no object of the
// matrix is absent.
func TestOwnIdsAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sides := leakSides(t, b)
	for _, r := range matrix() {
		if !r.names || r.guard != signIn || r.ok == http.StatusNotFound || r.place == installation || r.method() != http.MethodGet || strings.Contains(r.path, "stream") {
			continue
		}
		p := r.probe()
		for k := range sides {
			answer := p.answer(b.routes, sides[k].caller, sides[k].objects)
			require.False(t, strings.HasPrefix(answer, "404"), "%s: %s", r.path, answer)
		}
	}
}
