package db

import "context"

// Renewals returns the transactions that the watch ignores now.
func (w *Watch) Renewals(ctx context.Context) ([]uint32, error) {
	s, err := w.read(ctx)
	return s.renewals, err
}
