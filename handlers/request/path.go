package request

import (
	"net/http"
	"net/url"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
)

// ParseID parses an id of a path. Any other text is NotFound.
func ParseID(text, noun string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return uuid.Nil, apperr.New(apperr.NotFound, "There is no %s %q.", noun, text)
	}
	return id, nil
}

// PathValue is a parameter of the path, unescaped.
func PathValue(r *http.Request, name string) string {
	raw := chi.URLParam(r, name)
	if value, err := url.PathUnescape(raw); err == nil {
		return value
	}
	return raw
}

// ExecutionID reads the execution that the path of r names.
func ExecutionID(r *http.Request) (uuid.UUID, error) { return ParseID(PathValue(r, "id"), "execution") }

// PublicURL is the address of this server for r: the configured one, or the host of the request.
func PublicURL(r *http.Request, configured string) string {
	if configured != "" {
		return configured
	}
	return "http://" + r.Host
}
