package telemetry

import (
	"context"
	"encoding/binary"
	"sync/atomic"

	"github.com/google/uuid"
)

// receivedCounts count the points that this server has received, by execution. Executions share a
// count if the last bits of their IDs, which are random, are the same.
type receivedCounts [4096]atomic.Uint64

func (c *receivedCounts) of(execution uuid.UUID) *atomic.Uint64 {
	return &c[binary.BigEndian.Uint16(execution[14:])%uint16(len(c))]
}

// Received returns a number that changes after a server has received points of an execution, so that
// readers read its series only then. Points of other servers change it when they can be read. ok: the
// number is known. With several servers, it is known while someone follows the log of the execution.
func (s *Service) Received(ctx context.Context, execution uuid.UUID) (n uint64, ok bool) {
	n = s.received.of(execution).Load()
	if s.cfg.PollInterval == 0 {
		return n, true
	}
	elsewhere, ok, err := s.otherPoints.of(ctx, execution)
	if err != nil {
		return 0, false
	}
	for _, at := range elsewhere {
		n += at
	}
	return n, ok
}
