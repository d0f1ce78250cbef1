package runner

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// TestFilesInValues: a value refers to files in the outputs folder, and each becomes an output.
func TestFilesInValues(t *testing.T) {
	t.Parallel()
	b := setup(t)
	spec := shell("contained", `cd "$FLOWFORGE_OUTPUTS"
		mkdir -p .plots/b; echo one > .plots/a.txt; echo two > .plots/b/two.csv
		echo '[{"$path": ".plots/a.txt"}, {"name": "x", "file": {"$path": "./.plots/b/two.csv"}}, {"$path": ".plots/a.txt"}, {"$path": ".plots/b"}]' > plots
		echo '{"$path": "plots"}' > text`)
	spec.Outputs = []*flowforgev1.OutputSpec{inline("plots", "List"), inline("text", "JSON")}
	spec.Outputs[0].Files = true
	f := b.run(t, spec)
	wantOutcome(t, f, succeeded)
	want := map[string]string{
		"plots":   `[{"$output":"plots/0"},{"file":{"$output":"plots/1"},"name":"x"},{"$output":"plots/0"},{"$output":"plots/2"}]`,
		"plots/0": "a.txt text/plain", "plots/1": "two.csv text/csv", "plots/2": "b " + DirectoryMediaType,
		"text": `{"$path":"plots"}`,
	}
	if diff := cmp.Diff(want, values(f)); diff != "" {
		t.Error(diff)
	}
}

func TestFilesInValuesThatAreRefused(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`[{"$path": "../secret"}]`:          `"../secret" is not a path in the outputs folder`,
		`[{"$path": "/etc/passwd"}]`:        `"/etc/passwd" is not a path in the outputs folder`,
		`[{"$path": "missing"}]`:            `the file "missing" in its value`,
		`[{"$path": "link"}]`:               `link is not a regular file`,
		`[{"$path": "linked/inside"}]`:      `linked/inside is not in a folder`,
		`[{"$path": "."}]`:                  `"." is not a path in the outputs folder`,
		`{"a": {"b": [{"$path": "gone"}]}}`: `the file "gone" in its value`,
	} {
		b := setup(t)
		spec := shell("contained", `cd "$FLOWFORGE_OUTPUTS"; ln -s /etc/passwd link; mkdir folder; echo x > folder/inside; ln -s folder linked
			echo '`+value+`' > plots`)
		spec.Outputs = []*flowforgev1.OutputSpec{{Name: "plots", Kind: "List", Inline: true, Files: true}}
		f := b.run(t, spec)
		if f.Outcome != flowforgev1.Outcome_OUTCOME_OUTPUT_FAILED || !strings.Contains(f.Message, want) {
			t.Errorf("%s: %v %s\nwant %s", value, f.Outcome, f.Message, want)
		}
	}
}
