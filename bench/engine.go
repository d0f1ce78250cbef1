package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/compute/launcher/local"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/jobs"
	"github.com/flowforge/flowforge/platform/unixrpc"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/proto/flowforge/v1/flowforgev1connect"
	"github.com/flowforge/flowforge/typeregistry"
)

// engine is a server without pages.
type engine struct {
	ctx        context.Context
	workflows  *workflow.Service
	executions *execution.Service
	pool       *pgxpool.Pool
	admin      *pgx.Conn // to another database of the same server
	database   string
	closers    []func()
}

func (e *engine) close() {
	for _, f := range slices.Backward(e.closers) {
		f()
	}
}

// builtinTypes is the registry without custom types.
type builtinTypes struct{}

func (builtinTypes) Types(context.Context) (*typeregistry.Registry, error) {
	return typeregistry.Builtin(), nil
}

// start starts the engine on a separate database.
func start(ctx context.Context, url, dir, program string, log *slog.Logger) (*engine, error) {
	e := &engine{ctx: auth.WithSubject(ctx, auth.Local())}
	pool, err := e.createDatabase(url)
	if err != nil {
		return nil, err
	}
	e.pool = pool
	store, err := artifact.OpenStore(filepath.Join(dir, "blobs"))
	if err != nil {
		return nil, err
	}
	signer, err := auth.NewSigner([]byte("the benchmark's own key, 32 bytes"))
	if err != nil {
		return nil, err
	}
	launcher, err := e.buildLauncher(dir, program, log)
	if err != nil {
		return nil, err
	}
	e.workflows = workflow.NewService(pool, builtinTypes{}, nil, time.Now)
	e.executions, err = execution.New(execution.Config{
		Pool: pool, Workflows: e.workflows, Artifacts: artifact.NewService(pool, store, time.Now), Launcher: launcher,
		Signer: signer, Capacity: quota.Capacity{CPUMillis: 64_000, MemoryMiB: 64_000, Pods: 64}, Instance: "bench", Logger: log,
	})
	if err != nil {
		return nil, err
	}
	if err := e.executions.Prepare(e.ctx); err != nil {
		return nil, err
	}
	if err := e.serveTasks(filepath.Join(dir, "api.sock")); err != nil {
		return nil, err
	}
	if err := launcher.Open(e.ctx); err != nil {
		return nil, err
	}
	return e, e.run(pool, log)
}

// createDatabase creates a database that is deleted at the end.
func (e *engine) createDatabase(url string) (*pgxpool.Pool, error) {
	admin, err := pgx.Connect(e.ctx, url)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("ffbench_%d", os.Getpid())
	e.admin, e.database = admin, name
	if _, err := admin.Exec(e.ctx, "CREATE DATABASE "+name); err != nil {
		return nil, err
	}
	e.closers = append(e.closers, func() {
		_, _ = admin.Exec(context.WithoutCancel(e.ctx), "DROP DATABASE "+name+" WITH (FORCE)")
		_ = admin.Close(context.WithoutCancel(e.ctx))
	})
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.ConnConfig.Database = name
	config.MaxConns = 16
	pool, err := pgxpool.NewWithConfig(e.ctx, config)
	if err != nil {
		return nil, err
	}
	e.closers = append(e.closers, pool.Close)
	return pool, db.Migrate(e.ctx, pool)
}

// buildLauncher returns a launcher with the runner of program, which it builds if it is "".
func (e *engine) buildLauncher(dir, program string, log *slog.Logger) (*local.Launcher, error) {
	if program == "" {
		program = filepath.Join(dir, "flowforge")
		build := exec.CommandContext(e.ctx, "go", "build", "-o", program, "./cmd/flowforge")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return nil, fmt.Errorf("build flowforge: %w", err)
		}
	}
	l := local.New(local.Config{Dir: filepath.Join(dir, "runner"), ServerSocket: filepath.Join(dir, "api.sock"), Executable: program, Environ: os.Environ(), Logger: log})
	e.closers = append(e.closers, func() { _ = l.Shutdown(context.WithoutCancel(e.ctx)) })
	return l, nil
}

// taskServer receives reports for the engine.
type taskServer struct {
	flowforgev1connect.UnimplementedTaskServiceHandler
	executions *execution.Service
}

func (s taskServer) Deliver(ctx context.Context, r *connect.Request[flowforgev1.DeliverRequest]) (*connect.Response[flowforgev1.DeliverResponse], error) {
	results, err := s.executions.Supervisor.Deliver(auth.AsSystem(ctx), r.Msg.GetReports())
	if err != nil {
		return nil, connect.NewError(connect.CodeUnavailable, err)
	}
	return connect.NewResponse(&flowforgev1.DeliverResponse{Results: results}), nil
}

func (e *engine) serveTasks(socket string) error {
	mux, tasks := http.NewServeMux(), taskServer{executions: e.executions}
	mux.Handle(flowforgev1connect.NewTaskServiceHandler(tasks))
	calls, err := unixrpc.Serve(unixrpc.Path(socket), unixrpc.Unary(flowforgev1connect.TaskServiceDeliverProcedure, tasks.Deliver))
	if err != nil {
		return err
	}
	var config net.ListenConfig
	listener, err := config.Listen(e.ctx, "unix", socket)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(listener) }()
	e.closers = append(e.closers, func() { _ = server.Close(); calls.Shutdown(e.ctx) })
	return nil
}

func (e *engine) run(pool *pgxpool.Pool, log *slog.Logger) error {
	client, err := jobs.NewClient(jobs.Config{Pool: pool, Executions: e.executions, Log: log})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(e.ctx)
	var wg sync.WaitGroup
	wg.Go(func() { _ = e.executions.Run(ctx) })
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		cancel()
		return err
	}
	e.closers = append(e.closers, func() {
		stopping, stop := context.WithTimeout(context.Background(), 5*time.Second)
		defer stop()
		_ = client.Stop(stopping)
		cancel()
		wg.Wait()
	})
	return nil
}
