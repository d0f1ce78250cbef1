package web

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/httprate"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
)

// Limits are how many requests are answered per minute; 0 is no limit. Streams
// and static files are not counted.
type Limits struct {
	Caller       int // of one API key, or one user with all their sessions
	Tenant       int // of everybody in one tenant
	Address      int // of one address without a sign-in
	FailedLogins int // wrong tokens and login links of one address
}

const limitWindow = time.Minute

// limiter counts requests by key within a sliding minute; nil counts nothing.
type limiter struct {
	rates *httprate.RateLimiter
	most  int
}

func newLimiter(most int) *limiter {
	if most <= 0 {
		return nil
	}
	return &limiter{most: most, rates: httprate.NewRateLimiter(most, limitWindow, httprate.WithResponseHeaders(httprate.ResponseHeaders{RetryAfter: "Retry-After"}))}
}

// take counts a request and returns the error of one too many.
func (l *limiter) take(w http.ResponseWriter, r *http.Request, key, whose string) error {
	if l == nil || !l.rates.OnLimit(w, r, key) {
		return nil
	}
	return apperr.New(apperr.Quota, "%s may send %d requests a minute, and that was more. Try again in a minute.", whose, l.most)
}

// full returns the error of a key that has used up its tries, without counting.
func (l *limiter) full(w http.ResponseWriter, key string) error {
	if l == nil {
		return nil
	}
	if _, rate, err := l.rates.Status(key); err != nil || int(rate) < l.most {
		return nil //nolint:nilerr // the counter is in memory and does not fail
	}
	w.Header().Set("Retry-After", strconv.Itoa(int(limitWindow.Seconds())))
	return apperr.New(apperr.Quota, "Too many tries to sign in from this address. Try again in a minute.")
}

// Limit answers 429 to who sends more requests than Config.Limits allow. It
// stands behind Authenticate.
func (s *Site) Limit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/stream") {
			if err := s.countRequest(w, r); err != nil {
				s.Fail(w, r, err)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Site) countRequest(w http.ResponseWriter, r *http.Request) error {
	subject, ok := auth.SubjectOf(r.Context())
	if !ok {
		return s.perAddress.take(w, r, httprate.CanonicalizeIP(auth.OriginOf(r.Context()).Address), "One address without a sign-in")
	}
	key, whose := "user:"+subject.ID.String(), "One person"
	if strings.HasPrefix(subject.Credential, "key:") {
		key, whose = subject.Credential, "One API key"
	}
	if err := s.perCaller.take(w, r, key, whose); err != nil {
		return err
	}
	return s.perTenant.take(w, r, subject.TenantID.String(), "One tenant")
}

// LoginAllowed fails with the error of an address that has used up its tries to
// sign in.
func (s *Site) LoginAllowed(w http.ResponseWriter, r *http.Request) error {
	return s.failedLogins.full(w, loginKey(r))
}

// LoginFailed counts a wrong token, link or answer of a provider against the
// address that r came from.
func (s *Site) LoginFailed(w http.ResponseWriter, r *http.Request) {
	if s.failedLogins != nil {
		s.failedLogins.rates.OnLimit(w, r, loginKey(r))
		w.Header().Del("Retry-After")
	}
}

func loginKey(r *http.Request) string {
	return httprate.CanonicalizeIP(auth.OriginOf(r.Context()).Address)
}
