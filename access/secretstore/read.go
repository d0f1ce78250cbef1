package secretstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/masking"
	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

const (
	// tries is how often one read requests a value from a store that does not respond.
	tries = 3
	// readLimit bounds one read with its tries. It is less than what a runner waits for an answer.
	readLimit = 20 * time.Second
	// silentFor is how long reads for what is not an attempt do not try a store that did not answer.
	silentFor = 15 * time.Second
	// maxValues is the maximum number of values in memory.
	maxValues = 10_000
)

// Check implements secret.Stores.
func (s *Service) Check(ctx context.Context, p secret.Owner, r secret.Reference) error {
	row, err := s.queries.GetSecretStore(ctx, r.Store)
	if err != nil && !db.IsNoRows(err) {
		return fmt.Errorf("secret store %s: %w", r.Store, err)
	}
	if err == nil {
		store, err := fromRow(row)
		if err != nil {
			return err
		}
		if store.allows(p) {
			return apperr.InvalidFields("The secret has invalid values.", store.problems(p, r))
		}
	}
	// A project that may not use a store does not learn that it exists.
	return apperr.InvalidFields("The secret has invalid values.", []apperr.Field{{Path: "store", Message: fmt.Sprintf("There is no secret store %q for this project.", r.Store)}})
}

// problems are the parts of a reference that the store does not allow.
func (s Store) problems(p secret.Owner, r secret.Reference) []apperr.Field {
	fields := r.Check()
	if prefix := s.Prefix(p); !strings.HasPrefix(r.Path, prefix) {
		fields = append(fields, apperr.Field{Path: "path", Message: fmt.Sprintf("The store allows only paths that begin with %q.", prefix)})
	}
	if s.Kind == Vault && r.Key == "" {
		fields = append(fields, apperr.Field{Path: "key", Message: "Enter the key: a Vault secret has several keys."})
	}
	if (s.Kind == File || s.Kind == Environment) && r.Version != "" {
		fields = append(fields, apperr.Field{Path: "version", Message: "Files and variables have no versions."})
	}
	if (s.Kind == GCP || s.Kind == Environment) && strings.Contains(r.Path, "/") {
		fields = append(fields, apperr.Field{Path: "path", Message: "Enter a name without “/”."})
	}
	return fields
}

// Read implements secret.Stores. It checks again that the project may use the store and the path,
// which an administrator can change after the secret was stored.
func (s *Service) Read(ctx context.Context, p secret.Owner, r secret.Reference, maxAge time.Duration) (string, error) {
	if err := systemOnly(ctx); err != nil {
		return "", err
	}
	row, err := s.queries.GetSecretStore(ctx, r.Store)
	if db.IsNoRows(err) {
		return "", apperr.New(apperr.Conflict, "There is no secret store %q.", r.Store)
	}
	if err != nil {
		return "", fmt.Errorf("secret store %s: %w", r.Store, err)
	}
	store, err := fromRow(row)
	if err != nil {
		return "", err
	}
	if !store.allows(p) || len(store.problems(p, r)) > 0 {
		return "", apperr.New(apperr.Conflict, "The secret store %q does not allow this project to use %s.", r.Store, r.Place())
	}
	if value, ok := s.cached(r, row.UpdatedAt, maxAge); ok {
		return value, nil
	}
	if err := s.silence(r.Store, row.UpdatedAt); err != nil && maxAge > 0 {
		return "", err
	}
	value, err := s.fetch(ctx, row, r)
	s.note(r.Store, err)
	return value, err
}

// silence returns the failure of a store that did not respond a moment ago, after its last
// change.
func (s *Service) silence(store string, changed time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, ok := s.silent[store]
	if !ok || !last.at.After(changed) || s.Now().Sub(last.at) >= silentFor {
		return nil
	}
	return last.err
}

// note records whether a store responded.
func (s *Service) note(store string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if apperr.Is(err, apperr.Unavailable) {
		s.silent[store] = silence{err, s.Now()}
		return
	}
	delete(s.silent, store)
}

func systemOnly(ctx context.Context) error {
	if subject, ok := auth.SubjectOf(ctx); !ok || subject.Role != auth.RoleSystem {
		return apperr.New(apperr.Forbidden, "Only tasks can read values of secrets.")
	}
	return nil
}

// cached returns a value that was read after the last change of the store and is not older than maxAge.
func (s *Service) cached(r secret.Reference, changed time.Time, maxAge time.Duration) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.values[r]
	return known.value, ok && maxAge > 0 && known.at.After(changed) && s.Now().Sub(known.at) < maxAge
}

// Last implements secret.Stores.
func (s *Service) Last(r secret.Reference) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.values[r].value
}

func (s *Service) keep(r secret.Reference, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.values[r]; !known && len(s.values) >= maxValues {
		clear(s.values)
	}
	s.values[r] = readValue{value, s.Now()}
}

// fetch reads a value from the store. It tries again, with growing pauses, while the store does
// not respond.
func (s *Service) fetch(ctx context.Context, row db.SecretStore, r secret.Reference) (string, error) {
	m, masker, err := s.managerOf(row)
	if err != nil {
		return "", err
	}
	limited, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	pause := 200 * time.Millisecond
	for try := 1; ; try++ {
		value, err := m.read(limited, r)
		if err == nil {
			err = checkValue(value)
		}
		if err == nil {
			s.keep(r, value)
			return value, nil
		}
		if !is(err, unreachable) || try == tries || s.Wait(limited, pause) != nil {
			return "", explain(err, r, masker)
		}
		pause *= 5
	}
}

// managerOf returns the manager of a row, which it keeps with its tokens until the row changes, and
// what masks the credentials.
func (s *Service) managerOf(row db.SecretStore) (manager, *masking.Masker, error) {
	secrets, err := s.unseal(row)
	if err != nil {
		return nil, nil, err
	}
	masker := masking.New(slices.Collect(maps.Values(secrets))...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if have, ok := s.managers[row.Name]; ok && have.updated.Equal(row.UpdatedAt) {
		return have.manager, masker, nil
	}
	store, err := fromRow(row)
	if err != nil {
		return nil, nil, err
	}
	m, err := s.open(row.Kind, opened{store.Settings, secrets})
	if err != nil {
		return nil, nil, err
	}
	s.managers[row.Name] = openManager{m, row.UpdatedAt}
	return m, masker, nil
}

// Result is the result of a test.
type Result struct {
	OK     bool
	Detail string // what the store answered, or what failed and what to do; never a value
}

// Test signs in to a store and, with a path, reads the value there, which it does not return. Only
// administrators of the installation may call it. What fails is in the result.
func (s *Service) Test(ctx context.Context, name string, r secret.Reference) (Result, error) {
	if _, err := administers(ctx); err != nil {
		return Result{}, err
	}
	row, err := s.queries.GetSecretStore(ctx, name)
	if db.IsNoRows(err) {
		return Result{}, absent(name)
	}
	if err != nil {
		return Result{}, fmt.Errorf("secret store %s: %w", name, err)
	}
	r.Store = name
	if r.Path != "" {
		if err := apperr.InvalidFields("The path is not valid.", r.Check()); err != nil {
			return Result{}, err
		}
	}
	result, err := s.try(ctx, row, r)
	if err != nil {
		return Result{}, err
	}
	err = db.Tx(ctx, s.Pool, func(_ pgx.Tx, q *db.Queries) error {
		return audit.Record(ctx, q, entry("secret_store.test", name, nil, map[string]any{"ok": result.OK, "path": r.Path}))
	})
	if err != nil {
		return Result{}, fmt.Errorf("record the test of secret store %s: %w", name, err)
	}
	return result, nil
}

func (s *Service) try(ctx context.Context, row db.SecretStore, r secret.Reference) (Result, error) {
	m, masker, err := s.managerOf(row)
	if err != nil {
		return Result{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	detail := ""
	if r.Path == "" {
		detail, err = m.check(ctx)
	} else {
		var value string
		if value, err = m.read(ctx, r); err == nil {
			detail, err = "The value can be read.", checkValue(value)
		}
	}
	if err == nil {
		return Result{OK: true, Detail: detail}, nil
	}
	f, ok := errors.AsType[*failure](err)
	if !ok {
		return Result{}, err
	}
	return Result{Detail: masker.Text("The test failed: " + f.text + ".")}, nil
}

// Renew renews the tokens of stores that sign in with one, so that they do not expire while no attempt
// uses them. The others sign in again when they must.
func (s *Service) Renew(ctx context.Context) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	rows, err := s.queries.ListSecretStores(ctx, MaxStores)
	if err != nil {
		return fmt.Errorf("list secret stores: %w", err)
	}
	var failed []error
	for _, row := range rows {
		store, err := fromRow(row)
		if err != nil || store.Kind != Vault || store.Text("authentication") != ByToken {
			continue
		}
		m, masker, err := s.managerOf(row)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if v, ok := m.(*vault); ok {
			if _, err := v.session(ctx, ""); err != nil {
				failed = append(failed, fmt.Errorf("token of secret store %s: %s", row.Name, masker.Text(err.Error())))
			}
		}
	}
	return errors.Join(failed...)
}

// Reseal reseals all secret fields of older keys with the current one and returns the number of
// stores. The server calls it at startup; what a missing key sealed is unchanged.
func (s *Service) Reseal(ctx context.Context) (int, error) {
	if _, err := administers(ctx); err != nil {
		return 0, err
	}
	resealed := 0
	err := db.Tx(ctx, s.Pool, func(_ pgx.Tx, q *db.Queries) error {
		current := s.Keys.Current()
		rows, err := q.ListSecretStoresOfOtherKeys(ctx, &current, MaxStores)
		if err != nil {
			return err
		}
		for _, row := range rows {
			text, err := s.Keys.Open(*row.KeyID, secret.Owner{}, binding(row.Name), row.Sealed)
			if errors.Is(err, secret.ErrKeyMissing) {
				continue
			}
			if err != nil {
				return err
			}
			if err := q.ResealSecretStore(ctx, &current, s.Keys.Seal(secret.Owner{}, binding(row.Name), text), row.Name); err != nil {
				return err
			}
			resealed++
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("reseal secret stores: %w", err)
	}
	return resealed, nil
}
