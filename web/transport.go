package web

import (
	"net/http"
	"strings"
)

// stayWithTLS makes browsers use TLS only, for one year. It leaves out includeSubDomains,
// because other sites of the domain may not use TLS.
const stayWithTLS = "max-age=31536000"

// Transport sets the transport headers: browsers use TLS only if this server or its proxy
// serves TLS, and pages of other sites cannot load resources of this site as images,
// scripts or styles.
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
