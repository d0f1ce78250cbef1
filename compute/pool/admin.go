package pool

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

const (
	maxDescription = 300
	// tokenPrefix is the prefix of every token, so that secret scanners detect leaked tokens.
	tokenPrefix   = "ffw_"
	tokenIDLength = 12
	// tokenSeen is the interval at which the use of a token is stored.
	tokenSeen = time.Minute
	// MaxAttempts is the maximum number of attempts that Attempts returns.
	MaxAttempts = 200
)

func administers(ctx context.Context) (auth.Subject, error) {
	return auth.AuthorizeIn(ctx, auth.Administer, auth.Installation, apperr.New(apperr.Forbidden, "Only installation administrators can manage pools of workers."))
}

// Create creates a pool. It returns Invalid for a bad name and Conflict for one in use. For
// administrators, like all methods of this file.
func (s *Service) Create(ctx context.Context, pool, description string) (Pool, error) {
	subject, err := administers(ctx)
	if err != nil {
		return Pool{}, err
	}
	description = strings.TrimSpace(description)
	var fields []apperr.Field
	if !name.MatchString(pool) {
		fields = append(fields, apperr.Field{Path: "name", Message: "Use up to 63 lower-case letters, digits and hyphens, such as gpu-lab."})
	}
	if len([]rune(description)) > maxDescription {
		fields = append(fields, apperr.Field{Path: "description", Message: fmt.Sprintf("Use at most %d characters.", maxDescription)})
	}
	if len(fields) > 0 {
		return Pool{}, &apperr.Error{Code: apperr.Invalid, Message: "The pool was not created.", Fields: fields}
	}
	err = db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		err := q.InsertPool(ctx, pool, description, s.config.Now(), subject.Name)
		if db.Constraint(err) == "pools_pkey" {
			message := fmt.Sprintf("There is already a pool %q.", pool)
			return &apperr.Error{Code: apperr.Conflict, Message: message, Err: err, Fields: []apperr.Field{{Path: "name", Message: message}}}
		}
		if err != nil {
			return fmt.Errorf("create pool %s: %w", pool, err)
		}
		return record(ctx, q, "pool.create", pool, nil, map[string]any{"description": description})
	})
	if err != nil {
		return Pool{}, err
	}
	return s.Get(ctx, pool)
}

// List returns all pools by name.
func (s *Service) List(ctx context.Context) ([]Pool, error) {
	if _, err := administers(ctx); err != nil {
		return nil, err
	}
	return s.list(ctx, "")
}

// Get returns a pool, or NotFound.
func (s *Service) Get(ctx context.Context, pool string) (Pool, error) {
	if _, err := administers(ctx); err != nil {
		return Pool{}, err
	}
	if !name.MatchString(pool) {
		return Pool{}, errNoPool(pool)
	}
	list, err := s.list(ctx, pool)
	if err != nil {
		return Pool{}, err
	}
	if len(list) == 0 {
		return Pool{}, errNoPool(pool)
	}
	return list[0], nil
}

// Workers returns the workers of a pool by name; an unknown pool has none.
func (s *Service) Workers(ctx context.Context, pool string) ([]Worker, error) {
	if _, err := administers(ctx); err != nil {
		return nil, err
	}
	return s.workers(ctx, pool)
}

// Attempts returns up to MaxAttempts attempts of a pool, those that run first, and the total.
func (s *Service) Attempts(ctx context.Context, pool string) (attempts []Attempt, total int, err error) {
	if _, err := administers(ctx); err != nil {
		return nil, 0, err
	}
	rows, err := s.queries.PoolAttempts(ctx, pool, MaxAttempts)
	if err != nil {
		return nil, 0, fmt.Errorf("list attempts of pool %s: %w", pool, err)
	}
	attempts = make([]Attempt, len(rows))
	for i, r := range rows {
		attempts[i] = Attempt{
			TaskID: r.TaskID, Execution: r.ExecutionID, Workflow: r.WorkflowName, Node: r.NodeName, Number: int(r.Attempt), Labels: labelsOf(r.Labels),
			Requested: Amount{Slots: 1, CPUMillis: int(r.CpuMillis), MemoryMiB: int(r.MemoryMib), GPUs: int(r.Gpus), GPUType: r.GpuType},
			QueuedAt:  r.QueuedAt.UTC(), TakenAt: r.TakenAt, Reason: r.Reason,
		}
		if r.Worker != nil {
			attempts[i].Worker = *r.Worker
		}
		total = int(r.Total)
	}
	return attempts, total, nil
}

// Delete deletes a pool with its tokens and workers. It returns Conflict while attempts wait for
// the pool or run in it.
func (s *Service) Delete(ctx context.Context, pool string) error {
	if _, err := administers(ctx); err != nil {
		return err
	}
	have, err := s.Get(ctx, pool)
	if err != nil {
		return err
	}
	if n := have.Queued + have.Running; n > 0 {
		return apperr.New(apperr.Conflict, "The pool %s has %d running and %d waiting tasks. Drain it, and delete it when they have ended.", pool, have.Running, have.Queued)
	}
	return s.change(ctx, pool, func(q *db.Queries, _ db.Pool) error {
		err := q.DeletePool(ctx, pool)
		if db.Constraint(err) == "pool_work_worker_fkey" {
			return apperr.Wrap(apperr.Conflict, err, "A worker of the pool "+pool+" has just taken a task.")
		}
		if err == nil {
			err = q.DeletePoolUse(ctx, pool)
		}
		if err != nil {
			return fmt.Errorf("delete pool %s: %w", pool, err)
		}
		return record(ctx, q, "pool.delete", pool, map[string]any{"description": have.Description}, nil)
	})
}

// Drain stops the workers of a pool from taking attempts, or lets them take attempts again.
// Running attempts continue.
func (s *Service) Drain(ctx context.Context, pool string, draining bool) (Pool, error) {
	if _, err := administers(ctx); err != nil {
		return Pool{}, err
	}
	err := s.change(ctx, pool, func(q *db.Queries, row db.Pool) error {
		if row.Draining == draining {
			return nil
		}
		if err := q.SetPoolDraining(ctx, draining, pool); err != nil {
			return fmt.Errorf("drain pool %s: %w", pool, err)
		}
		return record(ctx, q, "pool.drain", pool, map[string]any{"draining": !draining}, map[string]any{"draining": draining})
	})
	if err != nil {
		return Pool{}, err
	}
	s.wake()
	return s.Get(ctx, pool)
}

// DrainWorker stops one worker from taking attempts, or lets it take attempts again.
func (s *Service) DrainWorker(ctx context.Context, pool string, worker uuid.UUID, draining bool) error {
	if _, err := administers(ctx); err != nil {
		return err
	}
	err := s.change(ctx, pool, func(q *db.Queries, _ db.Pool) error {
		machine, err := q.SetPoolWorkerDraining(ctx, draining, worker, pool)
		if db.IsNoRows(err) {
			return apperr.New(apperr.NotFound, "The pool %s has no worker %s.", pool, worker)
		}
		if err != nil {
			return fmt.Errorf("drain worker %s: %w", worker, err)
		}
		return record(ctx, q, "pool.drain_worker", pool, nil, map[string]any{"worker": machine, "draining": draining})
	})
	if err == nil {
		s.wake()
	}
	return err
}

// CreateToken creates a token of a pool and returns it with its secret, which is not stored.
func (s *Service) CreateToken(ctx context.Context, pool string) (Token, string, error) {
	subject, err := administers(ctx)
	if err != nil {
		return Token{}, "", err
	}
	token := Token{ID: strings.ToLower(rand.Text()[:tokenIDLength]), Pool: pool, CreatedAt: s.config.Now().UTC(), CreatedBy: subject.Name}
	secret := tokenPrefix + token.ID + "_" + rand.Text() + rand.Text()
	hash := sha256.Sum256([]byte(secret))
	err = s.change(ctx, pool, func(q *db.Queries, _ db.Pool) error {
		err := q.InsertPoolToken(ctx, db.InsertPoolTokenParams{ID: token.ID, Pool: pool, Sha256: hash[:], CreatedAt: token.CreatedAt, CreatedBy: token.CreatedBy})
		if err != nil {
			return fmt.Errorf("store token of pool %s: %w", pool, err)
		}
		return record(ctx, q, "pool.create_token", pool, nil, map[string]any{"token": token.ID})
	})
	return token, secret, err
}

// Tokens returns the tokens of a pool, the oldest first.
func (s *Service) Tokens(ctx context.Context, pool string) ([]Token, error) {
	if _, err := administers(ctx); err != nil {
		return nil, err
	}
	rows, err := s.queries.ListPoolTokens(ctx, pool)
	if err != nil {
		return nil, fmt.Errorf("list tokens of pool %s: %w", pool, err)
	}
	tokens := make([]Token, len(rows))
	for i, r := range rows {
		tokens[i] = Token{ID: r.ID, Pool: r.Pool, CreatedAt: r.CreatedAt.UTC(), CreatedBy: r.CreatedBy, LastUsedAt: r.LastUsedAt}
	}
	return tokens, nil
}

// RevokeToken revokes a token. Workers that use it interrupt their attempts, which run again, and
// end.
func (s *Service) RevokeToken(ctx context.Context, pool, id string) error {
	if _, err := administers(ctx); err != nil {
		return err
	}
	err := s.change(ctx, pool, func(q *db.Queries, _ db.Pool) error {
		n, err := q.DeletePoolToken(ctx, id, pool)
		if err != nil {
			return fmt.Errorf("revoke token %s: %w", id, err)
		}
		if n == 0 {
			return apperr.New(apperr.NotFound, "The pool %s has no token %q.", pool, id)
		}
		return record(ctx, q, "pool.revoke_token", pool, map[string]any{"token": id}, nil)
	})
	if err == nil {
		s.wake()
	}
	return err
}

// change calls f with the locked pool in a transaction.
func (s *Service) change(ctx context.Context, pool string, f func(q *db.Queries, row db.Pool) error) error {
	return db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		row, err := q.LockPool(ctx, pool)
		if db.IsNoRows(err) {
			return errNoPool(pool)
		}
		if err != nil {
			return fmt.Errorf("lock pool %s: %w", pool, err)
		}
		return f(q, row)
	})
}

func record(ctx context.Context, q *db.Queries, action, pool string, before, after map[string]any) error {
	e := audit.Entry{Action: action, Kind: "pool", ID: pool, Name: pool}
	if before != nil {
		e.Old = before
	}
	if after != nil {
		e.New = after
	}
	return audit.Record(ctx, q, e)
}

// verify returns the pool of a token.
func (s *Service) verify(ctx context.Context, token string) (string, error) {
	bad := apperr.New(apperr.Unauthenticated, "The pool token is not valid: it was revoked, or it belongs to another installation. Create one with \"flowforge pool token\".")
	rest, ok := strings.CutPrefix(token, tokenPrefix)
	if !ok {
		return "", bad
	}
	id, _, _ := strings.Cut(rest, "_")
	row, err := s.queries.FindPoolToken(ctx, id)
	if db.IsNoRows(err) {
		return "", bad
	}
	if err != nil {
		return "", fmt.Errorf("find token of a pool: %w", err)
	}
	if hash := sha256.Sum256([]byte(token)); subtle.ConstantTimeCompare(hash[:], row.Sha256) != 1 {
		return "", bad
	}
	if now := s.config.Now(); row.LastUsedAt == nil || now.Sub(*row.LastUsedAt) >= tokenSeen {
		if err := s.queries.TouchPoolToken(ctx, now, id); err != nil {
			return "", fmt.Errorf("store the use of token %s: %w", id, err)
		}
	}
	return row.Pool, nil
}
