// Package webtest is a web server for tests that keeps files and requires credentials.
package webtest

import (
	"io"
	"net/http"
	"strings"
	"sync"
)

// The credentials of the server.
const (
	Username = "reader"
	Password = "a long password"
	Client   = "the client"
	Secret   = "the secret of the client"
	Scope    = "files"
	Resource = "urn:files" // the value of the parameter resource of a request for a token
	token    = "an-issued-token"
)

// Server keeps the files that clients upload. Files below /basic require a username and a
// password, those below /oauth a token that /token issues, and those below /cert a client
// certificate. An upload below /moved is redirected to the rest of its path.
type Server struct {
	mu    sync.Mutex
	files map[string][]byte
}

// New returns a server without files.
func New() *Server { return &Server{files: map[string][]byte{}} }

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/token" {
		issue(w, r)
		return
	}
	if to, moved := strings.CutPrefix(r.URL.Path, "/moved"); moved {
		http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		return
	}
	if !allowed(r) {
		http.Error(w, "who are you", http.StatusUnauthorized)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == http.MethodPut {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.files[r.URL.Path] = data
		w.WriteHeader(http.StatusCreated)
		return
	}
	data, found := s.files[r.URL.Path]
	if !found {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(data)
}

func allowed(r *http.Request) bool {
	switch way, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/"); way {
	case "basic":
		username, password, _ := r.BasicAuth()
		return username == Username && password == Password
	case "oauth":
		return r.Header.Get("Authorization") == "Bearer "+token
	case "cert":
		return r.TLS != nil && len(r.TLS.PeerCertificates) > 0
	case "open":
		return true
	}
	return false
}

// issue answers a request for a token.
func issue(w http.ResponseWriter, r *http.Request) {
	client, secret, ok := r.BasicAuth()
	if !ok {
		client, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	w.Header().Set("Content-Type", "application/json")
	if strings.ReplaceAll(client, "+", " ") != Client || strings.ReplaceAll(secret, "+", " ") != Secret ||
		r.PostFormValue("scope") != Scope || r.PostFormValue("resource") != Resource {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error": "invalid_client", "error_description": "not this `+secret+`"}`)
		return
	}
	_, _ = io.WriteString(w, `{"access_token": "`+token+`", "token_type": "Bearer", "expires_in": 3600}`)
}
