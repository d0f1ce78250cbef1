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

// Limits are the maximum requests per minute; 0 means no limit. Streams and static
// files are not counted.
type Limits struct {
	Caller       int // per API key, or per user across all sessions
	Tenant       int // per tenant
	Address      int // per address, for requests without a sign-in
	FailedLogins int // wrong tokens and login links per address
}

const limitWindow = time.Minute

// limiter counts requests by key in a sliding window of one minute; a nil limiter counts nothing.
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

// take counts a request and returns an error when it exceeds the limit.
func (l *limiter) take(w http.ResponseWriter, r *http.Request, key, whose string) error {
	if l == nil || !l.rates.OnLimit(w, r, key) {
		return nil
	}
	return apperr.New(apperr.Quota, "%s may send at most %d requests per minute. Try again in a minute.", whose, l.most)
}

// full returns an error for a key that has reached its limit, without counting.
func (l *limiter) full(w http.ResponseWriter, key string) error {
	if l == nil {
		return nil
	}
	if _, rate, err := l.rates.Status(key); err != nil || int(rate) < l.most {
		return nil //nolint:nilerr // the counter is in memory and does not fail
	}
	w.Header().Set("Retry-After", strconv.Itoa(int(limitWindow.Seconds())))
	return apperr.New(apperr.Quota, "Too many sign-in attempts from this address. Try again in a minute.")
}

// Limit answers 429 to clients that exceed Config.Limits. It must run after
// Authenticate.
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
		return s.perAddress.take(w, r, httprate.CanonicalizeIP(auth.OriginOf(r.Context()).Address), "A client that is not signed in")
	}
	key, whose := "user:"+subject.ID.String(), "One user"
	if strings.HasPrefix(subject.Credential, "key:") {
		key, whose = subject.Credential, "One API key"
	}
	if err := s.perCaller.take(w, r, key, whose); err != nil {
		return err
	}
	return s.perTenant.take(w, r, subject.TenantID.String(), "One tenant")
}

// LoginAllowed returns an error when the address has used up its sign-in attempts.
func (s *Site) LoginAllowed(w http.ResponseWriter, r *http.Request) error {
	return s.failedLogins.full(w, loginKey(r))
}

// LoginFailed counts a wrong token, link or provider response against the address of
// r.
func (s *Site) LoginFailed(w http.ResponseWriter, r *http.Request) {
	if s.failedLogins != nil {
		s.failedLogins.rates.OnLimit(w, r, loginKey(r))
		w.Header().Del("Retry-After")
	}
}

func loginKey(r *http.Request) string {
	return httprate.CanonicalizeIP(auth.OriginOf(r.Context()).Address)
}
