package quota

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// Holder is the holder of a missing resource, with its name; Execution is uuid.Nil when
// the reader may not see it.
type Holder struct {
	fair.Holder

	Name Name
}

// Explanation is the reason that a node waits, limited to what its reader may see.
type Explanation struct {
	Reason    fair.Reason
	Waits     bool // it is in the queue of this process, so that the reason is current
	Offered   bool // capacity is reserved for it
	Requested fair.Amount
	Holders   []Holder
	Nearby    []Queued // positions around its own, and the first ones
}

const (
	nearby        = 2   // positions before and after its own
	nearbyAtMost  = 500 // beyond this position, only its own is shown
	queuePageSize = 50
	queuePageMost = 200
)

// Explain returns why a node of an execution of project waits; stored is the reason of
// its row, for nodes that wait in another process. It returns NotFound unless the
// subject may read executions in project.
func (rd *Reader) Explain(ctx context.Context, project uuid.UUID, key fair.Key, stored *fair.Reason) (Explanation, error) {
	subject, err := auth.AuthorizeIn(ctx, auth.ExecutionRead, project, apperr.New(apperr.NotFound, "There is no execution %s.", key.Execution))
	if err != nil {
		return Explanation{}, err
	}
	var e Explanation
	if stored != nil {
		e.Reason = *stored
	}
	if reason, ok := rd.fair.Why(key); ok {
		e.Reason, e.Waits = reason, true
	}
	for _, w := range rd.fair.Queue(fair.Filter{Execution: key.Execution}) {
		if w.Key == key {
			e.Offered, e.Requested = w.Offered, w.Amount
			e.Reason.Position = w.Position
		}
	}
	if e.Waits && e.Reason.Position > 0 && e.Reason.Position <= nearbyAtMost {
		queue := rd.fair.Queue(fair.Filter{Limit: e.Reason.Position + nearby})
		if e.Nearby, err = rd.queued(ctx, subject, queue[max(0, len(queue)-2*nearby-1):]); err != nil {
			return Explanation{}, err
		}
	}
	HideHolders(subject, &e.Reason)
	e.Holders, err = rd.holders(ctx, e.Reason.Holders)
	return e, err
}

// holders adds names to holders.
func (rd *Reader) holders(ctx context.Context, held []fair.Holder) ([]Holder, error) {
	var keys []fair.Key
	for _, h := range held {
		if h.Execution != uuid.Nil {
			keys = append(keys, fair.Key{Execution: h.Execution, Node: h.Node})
		}
	}
	names, err := rd.names(ctx, keys)
	if err != nil {
		return nil, err
	}
	holders := make([]Holder, len(held))
	for i, h := range held {
		holders[i] = Holder{h, names[fair.Key{Execution: h.Execution, Node: h.Node}]}
	}
	return holders, nil
}

// HideHolders removes from a reason what the subject may not see.
func HideHolders(subject auth.Subject, r *fair.Reason) { hideHolders(subject, r) }

// QueuePage is a page of a queue. Next is "" on the last.
type QueuePage struct {
	Entries []Queued
	Next    string
}

// QueueAt returns the requests that wait at or below a node in the order of admission,
// to subjects who may read there or in a project below it. An entry that the subject
// may not see has only a position, an amount and an age. after is the Next of the
// previous page. It returns NotFound for a node that the subject may not see.
func (rd *Reader) QueueAt(ctx context.Context, node uuid.UUID, after string, limit int) (QueuePage, error) {
	subject, _, err := rd.authorizeMember(ctx, node)
	if err != nil {
		return QueuePage{}, err
	}
	if _, known := rd.fair.Tree().Level(node); !known {
		return QueuePage{}, absent(node)
	}
	if limit <= 0 {
		limit = queuePageSize
	}
	limit = min(limit, queuePageMost)
	seen, last, err := parseMark(after)
	if err != nil {
		return QueuePage{}, err
	}
	queue := rd.fair.Queue(fair.Filter{Level: node, Limit: seen + limit + 1})
	queue = queue[from(queue, seen, last):]
	var page QueuePage
	if len(queue) > limit {
		queue = queue[:limit]
		end := queue[limit-1].Key
		page.Next = fmt.Sprintf("%d.%s.%d", seen+limit, end.Execution, end.Node)
	}
	page.Entries, err = rd.queued(ctx, subject, queue)
	return page, err
}

// from is the index at which a page begins: after the last entry of the previous page,
// or, when that no longer waits, after as many entries as were seen.
func from(queue []fair.Waiting, seen int, last fair.Key) int {
	for i, w := range queue {
		if seen > 0 && w.Key == last {
			return i + 1
		}
	}
	return min(seen, len(queue))
}

// parseMark reads the Next of a QueuePage.
func parseMark(text string) (seen int, last fair.Key, err error) {
	if text == "" {
		return 0, fair.Key{}, nil
	}
	bad := apperr.New(apperr.Invalid, "The page token is not valid.")
	parts := strings.SplitN(text, ".", 3) //nolint:mnd // count, execution, node
	if len(parts) != 3 {
		return 0, fair.Key{}, bad
	}
	seen, errSeen := strconv.Atoi(parts[0])
	execution, errID := uuid.Parse(parts[1])
	node, errNode := strconv.Atoi(parts[2])
	if errSeen != nil || errID != nil || errNode != nil || seen < 1 || seen > 1_000_000 {
		return 0, fair.Key{}, bad
	}
	return seen, fair.Key{Execution: execution, Node: node}, nil
}
