package web

import "context"

type stoppingKey struct{}

// WithStopping returns a context for the requests of a server that closes stopping when it
// begins to stop. Streams and long polls then end at once; other requests go on.
func WithStopping(ctx context.Context, stopping <-chan struct{}) context.Context {
	return context.WithValue(ctx, stoppingKey{}, stopping)
}

// stoppingOf returns the channel of WithStopping, or nil.
func stoppingOf(ctx context.Context) <-chan struct{} {
	stopping, _ := ctx.Value(stoppingKey{}).(<-chan struct{})
	return stopping
}

// EndAtStop returns a context that is also cancelled when the server begins to stop. Long
// polls use it so that they do not delay the stop.
func EndAtStop(ctx context.Context) (context.Context, context.CancelFunc) {
	stopping := stoppingOf(ctx)
	ctx, cancel := context.WithCancel(ctx)
	if stopping != nil {
		go func() {
			select {
			case <-stopping:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	return ctx, cancel
}
