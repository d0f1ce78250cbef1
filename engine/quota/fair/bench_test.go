package fair

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
)

// busy is a full cluster of 10 teams with 10 projects each, and waiting requests
// of 4 sizes spread over them.
func busy(b *testing.B, waiting int) *bundle {
	f := grow(Vector{CPU: 1_000_000, GPU: 100})
	for i := range 10 {
		team := fmt.Sprintf("t%d", i)
		f.tenant(team, Limits{Limit: Vector{CPU: 100_000}, Borrow: Vector{CPU: 900_000}, Weight: float64(i + 1)})
		for j := range 10 {
			f.project(fmt.Sprintf("%s/p%d", team, j), Limits{})
		}
	}
	s := f.schedule(b)
	for i := range 1000 + waiting {
		if i%1000 == 0 {
			s.clock.pass(time.Second)
		}
		e := uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, i/10))
		r := s.request(fmt.Sprintf("t%d/p%d", i%10, i/10%10), e, i%10, Amount{CPUMillis: 1000})
		if i >= 1000 {
			r.Amount.CPUMillis = 1000 * (1 + i%4)
		}
		s.Admit(e, nil, []Request{r})
	}
	return s
}

// BenchmarkDecision measures one release and the start that follows.
func BenchmarkDecision(b *testing.B) {
	for _, waiting := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			s := busy(b, waiting)
			next := s.HeldBy(uuid.Nil)
			b.ResetTimer()
			for i := range b.N {
				h := next[i%len(next)]
				s.Admit(h.Execution, []int{h.Node}, nil)
				for len(s.woken) > 0 {
					e := s.woken[0]
					s.woken = s.woken[1:]
					s.Admit(e, nil, nil)
				}
				r := s.request("t0/p0", h.Execution, h.Node, h.Amount)
				r.Project = h.Project
				s.Admit(h.Execution, nil, []Request{r})
			}
		})
	}
}

func BenchmarkPages(b *testing.B) {
	s := busy(b, 10_000)
	waiting := s.Queue(Filter{Limit: 1})[0]
	for name, read := range map[string]func(){
		"snapshot": func() { s.Snapshot() },
		"queue":    func() { s.Queue(Filter{Limit: 100}) },
		"why":      func() { s.Why(waiting.Key) },
		"victims":  func() { s.Victims() },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				read()
			}
		})
	}
}
