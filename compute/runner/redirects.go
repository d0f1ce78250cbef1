package runner

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

const maxRedirects = 5

// followRedirect is the policy of redirects for all requests. After one to another server, or to a
// connection without encryption, only headers that describe the content remain: all others can be
// credentials.
func followRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("stopped after %d redirects", maxRedirects)
	}
	if left(req, via) {
		maps.DeleteFunc(req.Header, func(name string, _ []string) bool {
			return !slices.Contains([]string{"Accept", "Accept-Encoding", "Content-Type", "User-Agent"}, name)
		})
	}
	return nil
}

// left reports whether a request, or one of those that led to it, left the server of the first.
func left(req *http.Request, via []*http.Request) bool {
	return slices.ContainsFunc(append(slices.Clone(via), req), func(r *http.Request) bool { return !keepsCredentials(via[0].URL, r.URL) })
}

// keepsCredentials reports whether credentials for one address may go to another.
func keepsCredentials(from, to *url.URL) bool {
	if !strings.EqualFold(from.Hostname(), to.Hostname()) {
		return false
	}
	if from.Scheme != to.Scheme {
		return to.Scheme == "https"
	}
	port := map[string]string{"http": "80", "https": "443"}[from.Scheme]
	return cmp.Or(from.Port(), port) == cmp.Or(to.Port(), port)
}

// followWithCertificate is the policy for requests to stores with a client certificate.
func followWithCertificate(req *http.Request, via []*http.Request) error {
	if left(req, via) {
		return &bucketError{message: "the store redirects to another server, which must not get the client certificate"}
	}
	return followToStore(req, via)
}

// followToStore is the policy for requests to stores. A client turns a PUT into a GET without a
// body after some redirects: the upload would seem to succeed, and nothing would be stored.
func followToStore(req *http.Request, via []*http.Request) error {
	if requested := via[0].Method; req.Method != requested {
		return &bucketError{message: fmt.Sprintf("the store redirected the request (%s), which would change %s to %s, so nothing was sent", req.Response.Status, requested, req.Method)}
	}
	return followRedirect(req, via)
}
