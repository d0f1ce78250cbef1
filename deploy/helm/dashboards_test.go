package helm_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	metricName = regexp.MustCompile(`flowforge_[a-z_]+`)
	labelled   = regexp.MustCompile(`(flowforge_[a-z_]+)\{([^}]*)\}`)
	labelName  = regexp.MustCompile(`([a-z_]+)(?:=~|!=|=)`)
)

// documentedMetrics are the metrics of docs/metrics.md with their labels.
func documentedMetrics(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	metrics := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) > 4 && strings.HasPrefix(strings.TrimSpace(cells[1]), "`flowforge_") {
			metrics[strings.Trim(cells[1], " `")] = cells[3]
		}
	}
	if len(metrics) < 20 {
		t.Fatalf("docs/metrics.md names %d metrics", len(metrics))
	}
	return metrics
}

// TestDashboardsAskForWhatThereIs checks that every metric and label of a dashboard is documented.
func TestDashboardsAskForWhatThereIs(t *testing.T) {
	t.Parallel()
	metrics := documentedMetrics(t)
	base := func(name string) string {
		for _, end := range []string{"_bucket", "_sum", "_count"} {
			if m, ok := strings.CutSuffix(name, end); ok && metrics[m] != "" {
				return m
			}
		}
		return name
	}
	files, err := filepath.Glob(filepath.Join(chart, "dashboards", "*.json"))
	if err != nil || len(files) != 3 {
		t.Fatalf("dashboards %q, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var dashboard struct {
			UID    string
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
		}
		if err := json.Unmarshal(text, &dashboard); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if dashboard.UID == "" || len(dashboard.Panels) < 5 {
			t.Errorf("%s: uid %q, %d panels", file, dashboard.UID, len(dashboard.Panels))
		}
		for _, p := range dashboard.Panels {
			for _, target := range p.Targets {
				for _, name := range metricName.FindAllString(target.Expr, -1) {
					if _, ok := metrics[base(name)]; !ok {
						t.Errorf("%s, %s: %s is not in docs/metrics.md", filepath.Base(file), p.Title, name)
					}
				}
				for _, m := range labelled.FindAllStringSubmatch(target.Expr, -1) {
					for _, l := range labelName.FindAllStringSubmatch(m[2], -1) {
						if l[1] != "namespace" && !strings.Contains(metrics[base(m[1])], "`"+l[1]+"`") {
							t.Errorf("%s, %s: %s has no label %s", filepath.Base(file), p.Title, m[1], l[1])
						}
					}
				}
			}
		}
	}
}
