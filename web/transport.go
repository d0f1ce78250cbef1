package web

import (
	"net/http"
	"strings"
)

// stayWithTLS is a year, after which a browser that has been here once never tries
// without TLS. Neighbours below the same domain are not ours to bind.
const stayWithTLS = "max-age=31536000"

// Transport sets the headers that say how the site is to be reached: over TLS alone
// when it is served over TLS, by us or by the proxy in front, and by no other site's
// page as a picture, a script or a style.
func (s *Site) Transport(next http.Handler) http.Handler {
	public := strings.HasPrefix(s.cfg.PublicURL, "https://")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if public || r.TLS != nil {
			w.Header().Set("Strict-Transport-Security", stayWithTLS)
		}
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}
