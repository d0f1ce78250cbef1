package notify

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/flowforge/flowforge/db"
)

// sending are the channels that send messages now. Each sends on its own, so that a channel that does not
// respond does not delay the others.
type sending struct {
	mu   sync.Mutex
	busy map[string]bool // by project and name, as ClaimNotifications reads them
	all  sync.WaitGroup
}

func channelKey(row db.Notification) string { return row.ProjectID.String() + "/" + row.Channel }

// channels returns the channels that send now.
func (s *sending) channels() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.AppendSeq([]string{}, maps.Keys(s.busy))
}

// start calls attempt for the messages of a channel, some at a time, and then done.
func (s *sending) start(ctx context.Context, channel string, rows []db.Notification, attempt func(context.Context, db.Notification), done func()) {
	s.mu.Lock()
	if s.busy == nil {
		s.busy = map[string]bool{}
	}
	s.busy[channel] = true
	s.mu.Unlock()
	s.all.Go(func() {
		slots := make(chan struct{}, together)
		var messages sync.WaitGroup
		for _, row := range rows {
			slots <- struct{}{}
			messages.Go(func() {
				defer func() { <-slots }()
				attempt(ctx, row)
			})
		}
		messages.Wait()
		s.mu.Lock()
		delete(s.busy, channel)
		s.mu.Unlock()
		done()
	})
}
