//go:build !nochdb

package clickhouse

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"github.com/flowforge/flowforge/platform/embedded/clickhouse/chdb"
	"github.com/flowforge/flowforge/platform/embedded/clickhouse/facade"
)

// engineBuiltIn reports that this build can load the engine's library.
const engineBuiltIn = true

// engineConnections is how many statements the engine runs at once.
const engineConnections = 8

// drain is how long running statements get when the engine is stopped.
const drain = 1500 * time.Millisecond

// RunEngine is the child process: it serves the engine on a unix socket until
// ctx ends. args come from Start. Its process can hold no second engine.
func RunEngine(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet(EngineCommand, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	library := flags.String("library", "", "path of libchdb.so")
	data := flags.String("data", "", "data directory")
	socket := flags.String("socket", "", "unix socket to serve on")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%s: %w", EngineCommand, err)
	}
	lib, err := chdb.Load(*library)
	if err != nil {
		return err
	}
	server, err := facade.New(lib, *data, engineConnections, flags.Args()...)
	if err != nil {
		return err
	}
	if err := os.Remove(*socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove old socket: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", *socket)
	if err != nil {
		return err
	}
	go debug.FreeOSMemory() // the start needs more memory than what follows
	return serve(ctx, listener, server)
}

func serve(ctx context.Context, listener net.Listener, server *facade.Server) error {
	httpServer := &http.Server{Handler: server, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- httpServer.Serve(listener) }()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	// Requests that do not end in time are aborted: their context ends, their query is killed.
	if shutdown := httpServer.Shutdown(stop); shutdown != nil {
		err = errors.Join(err, httpServer.Close())
	}
	server.Close(stop)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
