package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// cloneRepository creates to as the working tree of a repository, with the git program.
func cloneRepository(ctx context.Context, g *flowforgev1.GitSource, to string, env environ) error {
	program, ok := env.lookPath("git", "/")
	if !ok {
		return errors.New("git was not found on PATH; install it to clone repositories")
	}
	run := func(args ...string) error {
		var output bytes.Buffer
		c := exec.CommandContext(ctx, program, args...)
		c.Env = append(env.list(), "GIT_TERMINAL_PROMPT=0")
		if g.Insecure {
			c.Env = append(c.Env, "GIT_SSL_NO_VERIFY=1")
		}
		c.Stderr = &output
		if err := c.Run(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(output.String()))
		}
		return nil
	}
	if err := run(cloneArguments(g, to)...); err != nil {
		return err
	}
	for _, spec := range g.Fetch {
		if err := run("-C", to, "fetch", "--quiet", "origin", spec); err != nil {
			return err
		}
	}
	if err := checkOut(run, g.Revision, to); err != nil || g.NoSubmodules {
		return err
	}
	if _, err := os.Stat(filepath.Join(to, ".gitmodules")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return run("-C", to, "submodule", "--quiet", "update", "--init", "--recursive")
}

func cloneArguments(g *flowforgev1.GitSource, to string) []string {
	args := []string{"clone", "--quiet"}
	if g.Depth > 0 {
		args = append(args, "--depth", strconv.Itoa(int(g.Depth)))
	}
	if g.Branch != "" {
		args = append(args, "--branch", g.Branch)
	}
	if g.SingleBranch {
		args = append(args, "--single-branch")
	}
	return append(args, "--", g.Repository, to)
}

// checkOut switches the working tree to a revision that a shallow clone may lack.
func checkOut(run func(...string) error, revision, to string) error {
	if revision == "" {
		return nil
	}
	if err := run("-C", to, "checkout", "--quiet", revision); err == nil {
		return nil
	}
	if err := run("-C", to, "fetch", "--quiet", "origin", revision); err != nil {
		return err
	}
	return run("-C", to, "checkout", "--quiet", "FETCH_HEAD")
}
