package telemetry

import (
	"context"
	"errors"
	"sync"

	"github.com/flowforge/flowforge/data/telemetry/spool"
)

// cachedBytes limits the frames whose lines are kept.
const cachedBytes = 32 << 20

var errNotDecoded = errors.New("the lines of another tail were not decoded")

// frameCache keeps the lines of the frames that tails have read last, so that many tails of one log
// decode each frame once. The lines must not be changed.
type frameCache struct {
	mu     sync.Mutex
	frames map[uint64]*cachedFrame // by position
	order  []*cachedFrame          // the oldest first
	bytes  int64
	tails  int
}

// cachedFrame is a frame that one tail decodes and others wait for.
type cachedFrame struct {
	ref   spool.Ref
	done  chan struct{} // closed when lines or err is set
	lines []LogLine
	err   error
}

func newFrameCache() *frameCache { return &frameCache{frames: map[uint64]*cachedFrame{}} }

// begin counts a tail until end is called. The last one to end empties the cache.
func (c *frameCache) begin() (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tails++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.tails--; c.tails == 0 {
			c.frames, c.order, c.bytes = map[uint64]*cachedFrame{}, nil, 0
		}
	}
}

// claim returns the frames of refs, and those of them that the caller must decode.
func (c *frameCache) claim(refs []spool.Ref) (frames, missing []*cachedFrame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ref := range refs {
		f, ok := c.frames[ref.First]
		if !ok {
			f = &cachedFrame{ref: ref, done: make(chan struct{})}
			missing = append(missing, f)
			c.frames[ref.First] = f
			c.order = append(c.order, f)
			c.bytes += ref.Size()
		}
		frames = append(frames, f)
	}
	for len(c.order) > 1 && c.bytes > cachedBytes {
		c.bytes -= c.order[0].ref.Size()
		c.remove(c.order[0])
		c.order[0], c.order = nil, c.order[1:]
	}
	return frames, missing
}

// remove removes a frame that still has its place. The caller holds mu.
func (c *frameCache) remove(f *cachedFrame) {
	if c.frames[f.ref.First] == f {
		delete(c.frames, f.ref.First)
	}
}

// forget removes frames that could not be read, so that the next tail reads them again.
func (c *frameCache) forget(frames []*cachedFrame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range frames {
		c.remove(f)
	}
}

// live returns the lines of the frames that match, in the order of their positions.
func (s *Service) live(ctx context.Context, refs []spool.Ref, f *filter) ([]LogLine, error) {
	frames, missing := s.cache.claim(refs)
	s.decodeCached(missing)
	var out []LogLine
	for _, frame := range frames {
		select {
		case <-frame.done:
		case <-ctx.Done(): // another tail decodes the frame
			return nil, ctx.Err()
		}
		if frame.err != nil {
			return nil, frame.err
		}
		for i := range frame.lines {
			if f.match(&frame.lines[i]) {
				out = append(out, frame.lines[i])
			}
		}
	}
	return out, nil
}

// decodeCached reads frames that were claimed.
func (s *Service) decodeCached(frames []*cachedFrame) {
	if len(frames) == 0 {
		return
	}
	err := errNotDecoded // if decoding panics
	defer func() {
		if err != nil {
			s.cache.forget(frames)
		}
		for _, f := range frames {
			f.err = err
			close(f.done)
		}
	}()
	refs, at := make([]spool.Ref, len(frames)), map[uint64]*cachedFrame{}
	for i, f := range frames {
		refs[i], at[f.ref.First] = f.ref, f
	}
	err = s.spool.Read(refs, func(frame spool.Frame) error {
		f := at[frame.First]
		if f == nil || !isLogs(frame.Kind) {
			return nil
		}
		lines, err := decodeLines(frame)
		for i := range lines {
			lines[i].writer, lines[i].position = s.spool.Writer(), frame.First+uint64(i)
		}
		f.lines = lines
		return err
	})
}
