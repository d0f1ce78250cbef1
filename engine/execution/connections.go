package execution

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/apperr"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// connectionPrefix begins the names of secret fields of connections in grants. No secret has such
// a name.
const connectionPrefix = "connection/"

// fieldGrant is the name of a secret field of a connection in grants.
func fieldGrant(connection, field string) string { return connectionPrefix + connection + "/" + field }

// connectionField reads a name of fieldGrant.
func connectionField(name string) (connection, field string, ok bool) {
	rest, ok := strings.CutPrefix(name, connectionPrefix)
	if !ok {
		return "", "", false
	}
	connection, field, _ = strings.Cut(rest, "/")
	return connection, field, true
}

// connection returns the fields of a connection as the attempt receives them: visible ones now, and
// secret ones as marks of granted secrets. Every attempt reads the connection again.
func (r *resolver) connection(ctx context.Context, name, pointer string) (any, error) {
	connections := r.core.config.Connections
	if connections == nil {
		return nil, apperr.New(apperr.NotFound, "This server has no connections.")
	}
	d, err := connections.Document(auth.AsSystem(ctx), r.project, name)
	if err != nil {
		return nil, unlessRefused(err)
	}
	if err := r.noteUse(ctx, name); err != nil {
		return nil, unlessRefused(err)
	}
	fields := maps.Clone(d.Fields)
	out := map[string]any{"$connection": name, "kind": d.Kind, "fields": fields, "url": d.URL}
	for _, field := range d.Secrets {
		grant := fieldGrant(name, field)
		at, into := pointer+"/fields/"+field, fields
		if field == "url" {
			at, into = pointer+"/url", out
		}
		into[field] = map[string]any{"$secret": grant}
		*r.secrets = append(*r.secrets, &flowforgev1.InputSecret{Grant: r.grant(grant), Pointer: at})
	}
	return out, nil
}

// noteConnection records that the execution received a connection.
func (as *attemptSpecs) noteConnection(ctx context.Context, name string) error {
	return as.loop.driver.config.Connections.NoteUse(auth.AsSystem(ctx), as.loop.row.ProjectID, as.loop.row.WorkflowName, as.loop.id, name)
}

// reveal returns the value of a secret, or of a secret field of a connection. ofSecret reads the value
// of a secret.
func (s *SecretService) reveal(ctx context.Context, project uuid.UUID, name string, ofSecret revealing) (string, error) {
	if connection, field, ok := connectionField(name); ok {
		if s.config.Connections == nil {
			return "", apperr.New(apperr.NotFound, "This server has no connections.")
		}
		return s.config.Connections.Reveal(ctx, project, connection, field)
	}
	if s.config.Secrets == nil {
		return "", apperr.New(apperr.NotFound, "This server has no secrets.")
	}
	return ofSecret(s.config.Secrets, ctx, project, name)
}

// revealing is a way to read the value of a secret.
type revealing func(secrets *secret.Service, ctx context.Context, project uuid.UUID, name string) (string, error)

// gatherFields adds the names of the secret fields of connections; it leaves out deleted ones.
func (s *SecretService) gatherFields(ctx context.Context, names map[string]bool, project uuid.UUID, connections map[string]bool) error {
	if s.config.Connections == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(connections)) {
		d, err := s.config.Connections.Document(auth.AsSystem(ctx), project, name)
		if apperr.Is(err, apperr.NotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("connection %s: %w", name, err)
		}
		for _, field := range d.Secrets {
			names[fieldGrant(name, field)] = true
		}
	}
	return nil
}
