package execution

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/protect"
)

// deadLetters stores the nodes that failed after their last retry.
type deadLetters struct {
	feature

	part deadLettersPart
}

type deadLettersPart struct {
	letters  []deadLetterRow
	reopened []int32 // failed nodes that run again
}

func (dl *deadLetters) pending() bool { return len(dl.part.letters)+len(dl.part.reopened) > 0 }

func (dl *deadLetters) reset() { dl.part = deadLettersPart{} }

// deadLetterRow is the row of a dead letter.
type deadLetterRow struct {
	ID      uuid.UUID      `json:"id"`
	Node    int            `json:"i"`
	Name    string         `json:"node"`
	Attempt int            `json:"attempt"`
	Class   protect.Class  `json:"class"`
	Failure *query.Failure `json:"failure"`
	At      time.Time      `json:"at"`
}

// retried settles the dead letter of node i, which runs again.
func (dl *deadLetters) retried(i int) {
	dl.part.reopened = append(dl.part.reopened, int32(i)) //nolint:gosec // at most maxNodes
}

// add adds node i, which failed after its last retry, to the dead letters.
func (dl *deadLetters) add(i int, at time.Time, failure *query.Failure) {
	id, err := uuid.NewV7()
	if err != nil {
		dl.loop.driver.config.Logger.Error("make id of a dead letter", "execution", dl.loop.id, "node", i, "error", err)
		return
	}
	n := &dl.loop.nodes[i]
	dl.part.letters = append(dl.part.letters, deadLetterRow{
		ID: id, Node: i, Name: n.name, Attempt: n.attempt, Class: cmp.Or(failure.Class, protect.UserError), Failure: failure, At: at,
	})
}

// write writes the dead letters of a batch.
func (dl *deadLetters) write(ctx context.Context, q *db.Queries) error {
	if len(dl.part.letters) > 0 {
		err := q.InsertDeadLetters(ctx, db.InsertDeadLettersParams{
			TenantID: dl.loop.row.TenantID, ProjectID: dl.loop.row.ProjectID, ExecutionID: dl.loop.id, WorkflowName: dl.loop.row.WorkflowName, Version: dl.loop.row.Version,
			Letters: recordSet(dl.part.letters),
		})
		if err != nil {
			return fmt.Errorf("store dead letters: %w", err)
		}
	}
	if len(dl.part.reopened) > 0 {
		if err := q.SettleLettersOf(ctx, dl.loop.driver.now(), "", dl.loop.id, dl.part.reopened); err != nil {
			return fmt.Errorf("settle dead letters: %w", err)
		}
	}
	return nil
}
