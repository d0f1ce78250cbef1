// Package record stores the runs of a benchmark, compares them, and draws their history.
package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Run is one run of a benchmark. Its file in the folder of records is named after its time.
type Run struct {
	Benchmark string    `json:"benchmark"`
	Command   string    `json:"command"`
	At        time.Time `json:"at"`
	Commit    string    `json:"commit"` // with "+changes" if the working tree had changes
	Machine   Machine   `json:"machine"`
	LoadFrom  string    `json:"load_from"` // load averages of 1, 5 and 15 minutes at the start
	LoadTo    string    `json:"load_to"`
	Cases     []Case    `json:"cases"`
}

// Case is what a run measured in one case. The rounds of a run measure every case once, so that
// other programs on the machine disturb all cases alike.
type Case struct {
	Name    string    `json:"name"`
	Summary string    `json:"summary"`
	Unit    string    `json:"unit"`              // of the values, of which smaller ones are better
	Values  []float64 `json:"values"`            // one of each round, in order
	Error   string    `json:"error,omitempty"`   // why there are no values
	Profile *Profile  `json:"profile,omitempty"` // of an additional run that does not count
}

// Profile says where the time of a case goes.
type Profile struct {
	Functions []Share `json:"functions"` // processor time of the server, largest first
	Waits     []Share `json:"waits"`     // samples of the sessions in PostgreSQL that were not idle
}

// Share is a part of a whole, from 0 to 1.
type Share struct {
	Name string  `json:"name"`
	Part float64 `json:"part"`
}

// Median returns the middle value, or the mean of the two middle values.
func (c Case) Median() float64 {
	if len(c.Values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(c.Values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[middle-1] + sorted[middle]) / 2
	}
	return sorted[middle]
}

// Range returns the smallest and the largest value.
func (c Case) Range() (least, most float64) {
	if len(c.Values) == 0 {
		return 0, 0
	}
	return slices.Min(c.Values), slices.Max(c.Values)
}

// Case returns the case with a name.
func (r Run) Case(name string) (Case, bool) {
	i := slices.IndexFunc(r.Cases, func(c Case) bool { return c.Name == name })
	if i < 0 {
		return Case{}, false
	}
	return r.Cases[i], true
}

// timeInName is the layout of the time in the name of a file. Its order is that of the runs.
const timeInName = "2006-01-02T150405Z"

// Write stores a run in a folder and returns the path of its file.
func Write(dir string, r Run) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, r.At.UTC().Format(timeInName)+".json")
	return path, os.WriteFile(path, append(data, '\n'), 0o644)
}

// Read returns the runs in a folder, oldest first. A folder that does not exist has none.
func Read(dir string) ([]Run, error) {
	entries, err := os.ReadDir(dir) // sorted by name
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var runs []Run
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".json") {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var r Run
		if err := json.Unmarshal(data, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		runs = append(runs, r)
	}
	return runs, nil
}
