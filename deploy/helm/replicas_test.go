package helm_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// external are values with databases that the chart does not run.
const external = ownValues + ",keys.existingSecret=forge-keys,postgres.enabled=false,clickhouse.enabled=false,clickhouse.existingSecret=forge-clickhouse"

// number returns a number of an object as text, or "" if the object does not set it.
func number(o *unstructured.Unstructured, path ...string) string {
	v, found, err := unstructured.NestedFieldNoCopy(o.Object, path...)
	if err != nil || !found {
		return ""
	}
	return fmt.Sprint(v)
}

// replicas returns how many pods each component has, such as "2" or "2 to 10, by CPU".
func replicas(t *testing.T, objects []*unstructured.Unstructured) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, o := range objects {
		component := o.GetLabels()["app.kubernetes.io/component"]
		switch o.GetKind() {
		case "Deployment":
			if n := number(o, "spec", "replicas"); n != "" {
				found[component] += n
			}
		case "HorizontalPodAutoscaler":
			if target, _, _ := unstructured.NestedString(o.Object, "spec", "scaleTargetRef", "name"); !strings.HasSuffix(target, "-"+component) {
				t.Errorf("%s scales %s", o.GetName(), target)
			}
			found[component] += number(o, "spec", "minReplicas") + " to " + number(o, "spec", "maxReplicas") + ", by CPU"
		}
	}
	return found
}

// TestReplicasOfTheDocument: the default values have the replicas that docs/kubernetes.md lists.
func TestReplicasOfTheDocument(t *testing.T) {
	t.Parallel()
	found := replicas(t, render(t, "forge", "--set", ownValues))
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "kubernetes.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| component | replicas | purpose |\n|---|---|---|\n")
	rows := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			break
		}
		rows++
		component, documented := strings.TrimSpace(cells[1]), strings.TrimSuffix(strings.TrimSpace(cells[2]), ", one active")
		if found[component] != documented {
			t.Errorf("%s: %s replicas, documented are %s", component, found[component], documented)
		}
	}
	if rows != 4 || len(found) != 4 {
		t.Errorf("the document lists %d components, the chart has %v", rows, found)
	}
}

// TestReplicasOfValues: each component has the replicas of its values, and a fixed number without
// autoscaling.
func TestReplicasOfValues(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]map[string]string{
		"scheduler.replicas=3,launcher.replicas=4":                                                        {"web": "2 to 10, by CPU", "worker": "2 to 6, by CPU", "scheduler": "3", "launcher": "4"},
		"web.autoscaling.enabled=false,web.replicas=5,worker.autoscaling.enabled=false,worker.replicas=1": {"web": "5", "worker": "1", "scheduler": "2", "launcher": "2"},
		"web.autoscaling.minReplicas=3,web.autoscaling.maxReplicas=20,worker.autoscaling.maxReplicas=8":   {"web": "3 to 20, by CPU", "worker": "2 to 8, by CPU", "scheduler": "2", "launcher": "2"},
		"topology=single": {"single": "1"},
	} {
		found := replicas(t, render(t, "forge", "--set", ownValues+","+set))
		if fmt.Sprint(found) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", set, found, want)
		}
	}
}

// addresses returns the Secrets of the addresses of PostgreSQL by workload and variable.
func addresses(objects []*unstructured.Unstructured) map[string]map[string]string {
	found := map[string]map[string]string{}
	for _, o := range objects {
		containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
		for _, c := range containers {
			env, _, _ := unstructured.NestedSlice(c.(map[string]any), "env")
			for _, e := range env {
				name, _ := e.(map[string]any)["name"].(string)
				if !strings.HasPrefix(name, "FLOWFORGE_DATABASE_") || !strings.HasSuffix(name, "URL") {
					continue
				}
				workload := o.GetKind() + " " + o.GetName()
				if found[workload] == nil {
					found[workload] = map[string]string{}
				}
				secret, _, _ := unstructured.NestedString(e.(map[string]any), "valueFrom", "secretKeyRef", "name")
				key, _, _ := unstructured.NestedString(e.(map[string]any), "valueFrom", "secretKeyRef", "key")
				found[workload][name] = secret + "/" + key
			}
		}
	}
	return found
}

// TestLimitsOfThePool: pool_max_conns in the address of PostgreSQL reaches all servers and the migration.
// The servers have the direct address only if the values name it.
func TestLimitsOfThePool(t *testing.T) {
	t.Parallel()
	url := "postgres://forge:secret@pgbouncer.example.com:6432/forge?pool_max_conns=10"
	for _, direct := range []string{"", "forge-postgres-session"} {
		objects := render(t, "forge", "--set", external+",postgres.url="+url+",postgres.session.existingSecret="+direct)
		urls := map[string]string{}
		for _, o := range objects {
			if u, found, _ := unstructured.NestedString(o.Object, "stringData", "url"); o.GetKind() == "Secret" && found {
				urls[o.GetName()] = u
			}
		}
		workloads := addresses(objects)
		if len(workloads) != 5 {
			t.Errorf("%d workloads use the database, want the four roles and the migration", len(workloads))
		}
		for workload, names := range workloads {
			if secret, _ := strings.CutSuffix(names["FLOWFORGE_DATABASE_URL"], "/url"); urls[secret] != url {
				t.Errorf("%s: the address is %q, from the secret %s", workload, urls[secret], secret)
			}
			want := ""
			if direct != "" {
				want = direct + "/url"
			}
			if got := names["FLOWFORGE_DATABASE_SESSION_URL"]; got != want {
				t.Errorf("%s: the direct address is %q, want %q", workload, got, want)
			}
		}
	}
}

// TestConnectionsOfTheBundledDatabase: max_connections of the bundled PostgreSQL can be set.
func TestConnectionsOfTheBundledDatabase(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]string{"": "max_connections=200", ",postgres.parameters.max_connections=500": "max_connections=500"} {
		containers, _ := field(t, render(t, "forge", "--set", ownValues+set), "StatefulSet", "-postgres", "spec", "template", "spec", "containers").([]any)
		args, _, _ := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
		if !slices.Contains(args, want) {
			t.Errorf("%q: the arguments of PostgreSQL are %q, want %s", set, args, want)
		}
	}
}
