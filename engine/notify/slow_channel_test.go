package notify_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/engine/notify"
)

// TestASlowChannelDelaysNoOther: while the receiver of a channel does not respond, others receive their messages,
// also those about later failures.
func TestASlowChannelDelaysNoOther(t *testing.T) {
	t.Parallel()
	b, fast := setup(t), newReceiver(t)
	release, requested := make(chan struct{}), make(chan struct{}, 100)
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		requested <- struct{}{}
		<-release
	}))
	t.Cleanup(slow.Close)
	t.Cleanup(func() { close(release) })
	b.webhook("fast", fast)
	_, err := b.links.Put(b.admin, connection.Edit{Name: "slow", Kind: "webhook", Values: map[string]any{"url": slow.URL, "signing_secret": signing}})
	require.NoError(t, err)
	b.rule(notify.Rule{Name: "slow", Events: []notify.Event{notify.Failed}, Channels: []string{"slow"}})
	config := b.config
	config.Every = 10 * time.Millisecond
	ctx, stop := context.WithCancel(b.system)
	stopped := make(chan struct{})
	go func() { defer close(stopped); notify.New(config).Run(ctx) }()
	t.Cleanup(func() { stop(); <-stopped })
	b.ended("FAILED", time.Minute)
	<-requested
	b.rule(notify.Rule{Name: "fast", Events: []notify.Event{notify.Failed}, Channels: []string{"fast"}})
	b.ended("FAILED", time.Minute)
	require.Eventually(t, func() bool { return len(fast.requests()) == 1 }, 10*time.Second, 5*time.Millisecond)
}
