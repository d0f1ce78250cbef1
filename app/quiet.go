package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"
)

// quiet forwards only warnings and errors: River logs the number of finished jobs every few seconds.
// It also drops errors that a stop within seconds of the start causes: River inserts its periodic jobs
// a little after the start, and reports an error if it was stopped before.
type quiet struct{ slog.Handler }

func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && q.Handler.Enabled(ctx, level)
}

// Handle omits what was not done because River was stopped.
func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	if errors.Is(ctx.Err(), context.Canceled) && because(r, context.Canceled) {
		return nil
	}
	return q.Handler.Handle(ctx, r)
}

// because reports whether an attribute of a record contains the text of err.
func because(r slog.Record, err error) (found bool) {
	r.Attrs(func(a slog.Attr) bool {
		found = strings.Contains(a.Value.String(), err.Error())
		return !found
	})
	return found
}

func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }

func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }
