package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"connectrpc.com/connect"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

const (
	// rankShift gives each rank of a gang its own range of sequence numbers.
	rankShift = 40
	// rendezvousWait is how long the server may hold a response about a gang.
	rendezvousWait = 20 * time.Second
	// causeWait is how long rank 0 waits, after its own command has failed, for the
	// failure of another rank, which may be the cause.
	causeWait          = 1500 * time.Millisecond
	defaultGangTimeout = 10 * time.Minute
	defaultMasterPort  = "29500"
)

// gang is this pod's part in an attempt that runs in several pods. Rank 0 reports the
// attempt; the other ranks ship their logs and metrics and report their outcome to rank
// 0. A nil gang is valid and means an attempt in one place.
type gang struct {
	rank, pods int
	address    string
	timeout    time.Duration
	watching   sync.WaitGroup
	stop       chan struct{} // closed when the command has ended

	mu      sync.Mutex
	version int64
	members []*flowforgev1.Member
}

// gangError reports that the gang cannot continue.
type gangError struct {
	outcome flowforgev1.Outcome
	class   string
	message string
	code    int
}

func (e *gangError) Error() string { return e.message }

func newGang(pod *Pod, spec *flowforgev1.AttemptSpec) *gang {
	if pod == nil || spec.Pods <= 1 {
		return nil
	}
	timeout := pod.GangTimeout
	if timeout <= 0 {
		timeout = defaultGangTimeout
	}
	return &gang{rank: pod.Rank, pods: int(spec.Pods), address: pod.Address, timeout: timeout, stop: make(chan struct{})}
}

// reports reports whether this pod reports the attempt to the server.
func (g *gang) reports() bool { return g == nil || g.rank == 0 }

// sequence moves a sequence number into the range of the rank.
func (g *gang) sequence(n int64) int64 {
	if g == nil {
		return n
	}
	return int64(g.rank)<<rankShift + n
}

// fields returns the JSON fields of each log line.
func (g *gang) fields() string {
	if g == nil {
		return ""
	}
	return fmt.Sprintf(`{"rank":%d}`, g.rank)
}

// tags returns the tags of each metric point.
func (g *gang) tags() map[string]string {
	if g == nil {
		return nil
	}
	return map[string]string{"rank": strconv.Itoa(g.rank)}
}

// rendezvous returns when all ranks are ready to start, and adds to env the variables
// that they need to find each other.
func (g *gang) rendezvous(a *attempt, env environ) error {
	if g == nil {
		return nil
	}
	a.system(levelInfo, fmt.Sprintf("Rank %d of %d is ready and waiting for the other pods.", g.rank, g.pods))
	ctx, cancel := context.WithTimeoutCause(a.ctx, g.timeout, &gangError{
		outcome: flowforgev1.Outcome_OUTCOME_INTERRUPTED, class: classGang, code: -1,
		message: fmt.Sprintf("Not all of the %d pods started within %s.", g.pods, g.timeout),
	})
	defer cancel()
	ready := &flowforgev1.MeetRequest{State: flowforgev1.MemberState_MEMBER_STATE_READY, WaitMs: rendezvousWait.Milliseconds()}
	for {
		members, err := g.call(ctx, a, ready)
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			return gangUnreachable(err)
		}
		if broken := g.broken(members); broken != nil {
			return broken
		}
		if len(members) == g.pods {
			maps.Copy(env, g.environment(a.spec, members))
			return nil
		}
	}
}

// environment returns the variables of torch.distributed and similar libraries, and those
// of FlowForge.
func (g *gang) environment(spec *flowforgev1.AttemptSpec, members []*flowforgev1.Member) environ {
	rank, size := strconv.Itoa(g.rank), strconv.Itoa(g.pods)
	port := spec.Env["MASTER_PORT"]
	if port == "" {
		port = defaultMasterPort
	}
	return environ{
		"MASTER_ADDR": members[0].Address, "MASTER_PORT": port,
		"RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1",
		"NODE_RANK": rank, "GROUP_RANK": rank, "GROUP_WORLD_SIZE": size,
		"PET_MASTER_ADDR": members[0].Address, "PET_MASTER_PORT": port, // as torchrun reads them
		"FLOWFORGE_RANK": rank, "FLOWFORGE_WORLD_SIZE": size,
	}
}

// broken returns why the gang cannot continue; nil when it can.
func (g *gang) broken(members []*flowforgev1.Member) *gangError {
	i := slices.IndexFunc(members, func(m *flowforgev1.Member) bool {
		return m.State == flowforgev1.MemberState_MEMBER_STATE_FAILED && int(m.Rank) != g.rank
	})
	if i < 0 {
		return nil
	}
	m := members[i]
	e := &gangError{
		outcome: flowforgev1.Outcome_OUTCOME_FAILED, class: m.Class, code: int(m.ExitCode),
		message: fmt.Sprintf("Rank %d: %s", m.Rank, m.Message),
	}
	switch m.Class {
	case classTimeout:
		e.outcome = flowforgev1.Outcome_OUTCOME_TIMED_OUT
	case classStart:
		e.outcome = flowforgev1.Outcome_OUTCOME_START_FAILED
	case classGang:
		e.outcome = flowforgev1.Outcome_OUTCOME_INTERRUPTED
	}
	return e
}

func gangUnreachable(err error) error {
	if tokenRefused(err) {
		return errCancelled // the attempt ended without this rank
	}
	return &gangError{
		outcome: flowforgev1.Outcome_OUTCOME_INTERRUPTED, class: classGang, code: -1,
		message: "The pods could not find each other: " + err.Error() + ".",
	}
}

// watch stops the attempt when another rank fails or the attempt ends.
func (g *gang) watch(a *attempt) {
	if g == nil {
		return
	}
	ctx, cancel := context.WithCancel(a.ctx)
	g.watching.Go(func() {
		defer cancel()
		for ctx.Err() == nil {
			members, err := g.call(ctx, a, &flowforgev1.MeetRequest{
				State: flowforgev1.MemberState_MEMBER_STATE_READY, WaitMs: rendezvousWait.Milliseconds(),
			})
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				a.stop(gangUnreachable(err), a.grace())
				return
			}
			if broken := g.broken(members); broken != nil {
				a.stop(broken, a.grace())
				return
			}
		}
	})
	go func() {
		<-g.stop
		cancel()
	}()
}

// settle derives the outcome of the attempt from that of this rank: rank 0 waits for the
// reports of the other ranks.
func (g *gang) settle(a *attempt, e ending) ending {
	if g == nil {
		return e
	}
	close(g.stop)
	g.watching.Wait()
	if e.outcome == flowforgev1.Outcome_OUTCOME_SUCCEEDED {
		return g.settleSuccess(a, e)
	}
	_, led := errors.AsType[*gangError](context.Cause(a.ctx))
	if led || e.outcome == flowforgev1.Outcome_OUTCOME_CANCELLED || e.outcome == flowforgev1.Outcome_OUTCOME_PREEMPTED {
		return e
	}
	if g.rank == 0 {
		return g.attributeFailure(a, e)
	}
	class := e.class
	if e.outcome == flowforgev1.Outcome_OUTCOME_INTERRUPTED {
		class = classGang
	}
	ctx, cancel := context.WithTimeout(a.s.ctx, lastSaveLimit)
	defer cancel()
	_, err := g.call(ctx, a, &flowforgev1.MeetRequest{
		State: flowforgev1.MemberState_MEMBER_STATE_FAILED, Message: a.secrets.mask(e.message),
		ExitCode: int32(e.code), Class: class, //nolint:gosec // -1 to 255
	})
	if err != nil && !tokenRefused(err) {
		a.system(levelWarn, "The other pods could not be notified: "+err.Error()+".")
	}
	return e
}

// settleSuccess reports success to the other ranks; on rank 0 it waits until all have
// succeeded.
func (g *gang) settleSuccess(a *attempt, e ending) ending {
	done := &flowforgev1.MeetRequest{State: flowforgev1.MemberState_MEMBER_STATE_SUCCEEDED}
	for {
		members, err := g.call(a.ctx, a, done)
		if err != nil {
			if g.rank > 0 {
				return e
			}
			cause := context.Cause(a.ctx)
			if cause == nil {
				cause = gangUnreachable(err)
			}
			return stopped(cause, e.code)
		}
		if g.rank > 0 {
			return e
		}
		if broken := g.broken(members); broken != nil {
			return stopped(broken, broken.code)
		}
		if len(members) == g.pods && !slices.ContainsFunc(members, func(m *flowforgev1.Member) bool {
			return m.State != flowforgev1.MemberState_MEMBER_STATE_SUCCEEDED
		}) {
			return e
		}
		done.WaitMs = rendezvousWait.Milliseconds()
	}
}

// attributeFailure returns the failure of another rank when one caused this failure.
func (g *gang) attributeFailure(a *attempt, e ending) ending {
	ctx, cancel := context.WithTimeout(a.s.ctx, rendezvousWait)
	defer cancel()
	deadline := time.Now().Add(causeWait)
	for wait := causeWait; wait > 0; wait = time.Until(deadline) {
		members, err := g.call(ctx, a, &flowforgev1.MeetRequest{
			State: flowforgev1.MemberState_MEMBER_STATE_FAILED, Message: a.secrets.mask(e.message),
			ExitCode: int32(e.code), Class: e.class, WaitMs: wait.Milliseconds(), //nolint:gosec // -1 to 255
		})
		if err != nil {
			return e
		}
		if broken := g.broken(members); broken != nil {
			first := stopped(broken, broken.code)
			first.status = e.status
			return first
		}
	}
	return e
}

// call reports the state of this rank until the server responds or rejects.
func (g *gang) call(ctx context.Context, a *attempt, message *flowforgev1.MeetRequest) ([]*flowforgev1.Member, error) {
	message.TaskId, message.Rank, message.Pods, message.Address = a.spec.TaskId, int32(g.rank), int32(g.pods), g.address //nolint:gosec // small counts
	g.mu.Lock()
	message.Seen = g.version
	g.mu.Unlock()
	var answer *flowforgev1.MeetResponse
	err := a.s.server.persistently(ctx, nil, func() error {
		ctx, cancel := context.WithTimeout(ctx, rendezvousWait+deliverLimit)
		defer cancel()
		req := connect.NewRequest(message)
		req.Header().Set("Authorization", "Bearer "+a.spec.Token)
		resp, err := a.s.server.tasks.Meet(ctx, req)
		if err != nil {
			return rpcError("gang", err)
		}
		answer = resp.Msg
		return nil
	})
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.version, g.members = answer.Version, answer.Members
	return answer.Members, nil
}
