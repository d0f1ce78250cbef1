package clickhouse

import "context"

// Works exposes works.
func (e *Engine) Works(ctx context.Context) bool { return e.works(ctx) }
