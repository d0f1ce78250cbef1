package auth

import (
	"context"
	"errors"

	"github.com/flowforge/flowforge/apperr"
)

// TokenVerifier finds out who a bearer token stands for. It fails with
// ErrOtherToken for a token of another kind than its own, and with
// apperr.Unauthenticated for one of its kind that is not good.
type TokenVerifier interface {
	Verify(ctx context.Context, token string) (Subject, error)
}

// ErrOtherToken says that a token is of a kind that another TokenVerifier knows.
var ErrOtherToken = errors.New("a token of another kind")

// TokenChain asks one TokenVerifier after the other, until one knows the kind.
type TokenChain []TokenVerifier

// Verify returns who token stands for; it fails with apperr.Unauthenticated when
// no verifier accepts it.
func (c TokenChain) Verify(ctx context.Context, token string) (Subject, error) {
	for _, v := range c {
		s, err := v.Verify(ctx, token)
		if !errors.Is(err, ErrOtherToken) {
			return s, err
		}
	}
	return Subject{}, apperr.New(apperr.Unauthenticated, "The API token is not valid.")
}
