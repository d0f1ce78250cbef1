package page

import (
	"net/http"
	"net/url"
	"strings"
)

// LocalPath returns next when it is a path on this server, else the home page.
func LocalPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || len(next) > 2000 || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") {
		return "/"
	}
	return next
}

// Theme returns the reader's choice, "light" or "dark", or "" for the system's theme.
func Theme(r *http.Request) string {
	c, err := r.Cookie("theme")
	if err != nil || (c.Value != "light" && c.Value != "dark") {
		return ""
	}
	return c.Value
}

// cookie returns the decoded value of a cookie, "" without one.
func cookie(r *http.Request, name string) string {
	c, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	value, err := url.QueryUnescape(c.Value)
	if err != nil {
		return ""
	}
	return value
}
