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

// runResident runs attempts of a pool until the pool has no work.
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

// emptyShared removes the files that an attempt left in the world-writable folders of the
// container. Only the first process of a container does so: elsewhere the runner shares these
// folders with other programs. Mounted paths stay.
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
				fmt.Fprintln(os.Stderr, "flowforge: remove the files that an attempt left: "+err.Error())
			}
		}
	}
}

// mountPoints returns the mount points of this process.
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
