package auth

import (
	"context"
	"errors"

	"github.com/flowforge/flowforge/apperr"
)

// TokenVerifier returns the subject of a bearer token. It returns ErrOtherToken for a
// token of another kind, and apperr.Unauthenticated for an invalid token of its kind.
type TokenVerifier interface {
	Verify(ctx context.Context, token string) (Subject, error)
}

// ErrOtherToken means that the token is of another kind.
var ErrOtherToken = errors.New("a token of another kind")

// TokenChain tries several TokenVerifiers until one knows the kind.
type TokenChain []TokenVerifier

// Verify returns the subject of token; it returns apperr.Unauthenticated when no
// verifier accepts it.
func (c TokenChain) Verify(ctx context.Context, token string) (Subject, error) {
	for _, v := range c {
		s, err := v.Verify(ctx, token)
		if !errors.Is(err, ErrOtherToken) {
			return s, err
		}
	}
	return Subject{}, apperr.New(apperr.Unauthenticated, "The API token is not valid.")
}
