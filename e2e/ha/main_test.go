// Package ha_test kills, freezes and replaces real servers that share one database, and
// checks that every execution ends exactly once.
package ha_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/flowforge/flowforge/app"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/engine/execution"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/proto/flowforge/v1/flowforgev1connect"
)

// Environment variables of a child, which is a server of the tests.
const (
	envChild    = "FLOWFORGE_HA_CHILD" // its name
	envRoles    = "FLOWFORGE_HA_ROLES"
	envDatabase = "FLOWFORGE_HA_DATABASE"
	envSessions = "FLOWFORGE_HA_SESSIONS" // the direct address, if envDatabase is that of a pooler
	envDir      = "FLOWFORGE_HA_DIR"      // of the installation
	envTaskURL  = "FLOWFORGE_HA_TASKS"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(envChild); name != "" {
		if err := child(name); err != nil {
			fmt.Fprintln(os.Stderr, name+": "+err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child runs a server as `flowforge serve` does; the parent runs its attempts.
func child(name string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	roles, err := app.ParseRoles(os.Getenv(envRoles))
	if err != nil {
		return err
	}
	dir := os.Getenv(envDir)
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})).With("server", name)
	a, err := app.New(app.Config{
		Addr: "127.0.0.1:0", DataDir: dir + "/" + name, DatabaseURL: os.Getenv(envDatabase), DatabaseSessionURL: os.Getenv(envSessions), SecretsDir: dir + "/keys",
		ClickHouseURL: "http://127.0.0.1:1", SpoolMaxBytes: 1 << 24, LogRetentionDays: 1, SkipExamples: true,
		CPUMillis: 1_000_000, MemoryMiB: 1_000_000, Slots: 1000, GPUs: "none",
		Roles: roles, Instance: name, TaskURL: os.Getenv(envTaskURL),
		Attempts: remoteLauncher{flowforgev1connect.NewRunnerServiceClient(socketClient(dir+"/runner.sock"), "http://runner")},
		Log:      log, Out: new(bytes.Buffer),
	})
	if err != nil {
		return err
	}
	if err := os.WriteFile(dir+"/"+name+"/addr", []byte(a.Addr()), 0o600); err != nil {
		return err
	}
	return a.Run(ctx)
}

// remoteLauncher reaches the tasks, which run in the parent and outlive every server.
type remoteLauncher struct {
	runner flowforgev1connect.RunnerServiceClient
}

var _ execution.Launcher = remoteLauncher{}

func (r remoteLauncher) Start(ctx context.Context, attempts []launcher.Attempt) error {
	_, err := r.runner.Start(ctx, connect.NewRequest(&flowforgev1.StartRequest{Attempts: attempts}))
	return err
}

func (r remoteLauncher) Stop(ctx context.Context, refs []launcher.Ref, grace time.Duration) error {
	request := &flowforgev1.StopRequest{GraceMs: grace.Milliseconds()}
	for _, ref := range refs {
		request.TaskIds = append(request.TaskIds, ref.TaskID)
	}
	_, err := r.runner.Stop(ctx, connect.NewRequest(request))
	return err
}

func (r remoteLauncher) List(ctx context.Context) ([]launcher.Status, error) {
	response, err := r.runner.List(ctx, connect.NewRequest(&flowforgev1.ListRequest{}))
	if err != nil {
		return nil, err
	}
	var list []launcher.Status
	for _, a := range response.Msg.GetAttempts() {
		list = append(list, launcher.Status{TaskID: a.GetTaskId(), Finished: a.GetFinished()})
	}
	return list, nil
}

func socketClient(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", socket)
		},
	}}
}

// addrOf waits until a server has published its address.
func addrOf(ctx context.Context, path string) (string, error) {
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), ":") {
			return string(text), nil
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-look.C:
		}
	}
}
