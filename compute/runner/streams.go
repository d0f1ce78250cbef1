package runner

import (
	"context"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/flowforge/flowforge/data/channel"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// streams are the inputs of an attempt that are read while they are written.
type streams struct {
	list   []*stream
	cancel context.CancelFunc

	mu sync.Mutex // held while a file is shared with the attempt
}

func (s *streams) add(st *stream) { s.list = append(s.list, st) }

// begin starts to fill the pipes.
func (s *streams) begin(ctx context.Context) {
	if len(s.list) == 0 {
		return
	}
	ctx, s.cancel = context.WithCancel(ctx)
	for _, st := range s.list {
		go st.run(ctx)
	}
}

// isRead reports whether others read what the attempt writes while it runs.
func (a *attempt) isRead() bool {
	return slices.ContainsFunc(a.spec.Outputs, func(o *flowforgev1.OutputSpec) bool { return o.Storage == channel.HintStreaming })
}

// settle waits, after the command has succeeded, until all that it read has been written
// completely: only then is it known that it has read the results.
func (s *streams) settle() {
	for _, st := range s.list {
		st.detachReader()
	}
	for _, st := range s.list {
		<-st.done
	}
}

// endStreams closes the pipes and reports what was transferred. They stay open until the
// command has ended, so that no reader mistakes an interruption for the end.
func (f *inputFiles) endStreams() {
	s := &f.streams
	if s.cancel != nil {
		s.cancel()
	}
	for _, st := range s.list {
		st.detachReader()
		if s.cancel != nil {
			<-st.done
		}
	}
	f.placed = slices.Clone(f.placed)
	for _, st := range s.list {
		for k, arrival := range f.placed {
			if arrival != st.arrival {
				continue
			}
			now := proto.CloneOf[*flowforgev1.PlacedInput](arrival)
			now.Size, now.Moved, now.Micros = st.sent, st.moved, st.took.Microseconds()
			f.placed[k] = now
		}
	}
	s.list = nil
}
