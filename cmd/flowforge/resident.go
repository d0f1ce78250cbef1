package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/compute/runner"
)

// runResident works for a pool until there is nothing to do.
func runResident(ctx context.Context, flags taskFlags) error {
	pool, err := runner.ReadPool(flags.resident)
	if err != nil {
		return terminated(flags.termination, fmt.Errorf("--resident: %w", err))
	}
	config, err := podConfig(flags.dir)
	if err != nil {
		return terminated(flags.termination, err)
	}
	config.Server.URL = pool.APIEndpoint
	if err := runner.Resident(ctx, config, pool, emptyShared); err != nil {
		return terminated(flags.termination, err)
	}
	return nil
}

// emptyShared removes what an attempt left where every process of the container
// may write. Only the first process of a container may: elsewhere the folders are
// not the runner's alone. What is mounted stays.
func emptyShared() {
	if os.Getpid() != 1 {
		return
	}
	mounts, err := mountPoints()
	if err != nil {
		return
	}
	for _, folder := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue
		}
		for _, entry := range entries {
			path := filepath.Join(folder, entry.Name())
			if slices.ContainsFunc(mounts, func(m string) bool { return m == path || strings.HasPrefix(m, path+"/") }) {
				continue
			}
			if err := os.RemoveAll(path); err != nil {
				fmt.Fprintln(os.Stderr, "flowforge: what an attempt left could not be removed: "+err.Error())
			}
		}
	}
}

// mountPoints are the paths at which something is mounted.
func mountPoints() ([]string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var points []string
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 4 {
			points = append(points, strings.ReplaceAll(fields[4], "\\040", " "))
		}
	}
	return points, nil
}
