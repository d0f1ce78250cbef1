package tenancy

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
)

// maxKey is the maximum length of an idempotency key.
const maxKey = 200

// newID returns the id of a new object. With an idempotency key, it is derived from the
// subject, the node and the key, so that a repeated request finds the object of the
// first one.
func newID(subject auth.Subject, what string, place uuid.UUID, key string) (uuid.UUID, error) {
	if len(key) > maxKey {
		return uuid.Nil, apperr.InvalidFields("The idempotency key is too long.", []apperr.Field{{Path: "Idempotency-Key", Message: fmt.Sprintf("Send at most %d bytes.", maxKey)}})
	}
	if key != "" {
		return uuid.NewSHA1(subject.ID, []byte(what+"\n"+place.String()+"\n"+key)), nil
	}
	id, err := uuid.NewV7()
	if err != nil {
		return id, fmt.Errorf("create an id: %w", err)
	}
	return id, nil
}

// sameAs checks a repeated idempotency key.
func sameAs(same bool) error {
	if same {
		return nil
	}
	return apperr.New(apperr.Conflict, "This idempotency key was already used for another request.")
}

// maxNamespace is the maximum length of a Kubernetes namespace name.
const maxNamespace = 63

// namespace returns the Kubernetes namespace of a project: a recognizable name, and
// enough of its id to be unique. Users cannot choose it, because a chosen one could
// belong to another project. It does not change when names change.
func namespace(tenant, project string, id uuid.UUID) string {
	tail := hex.EncodeToString(id[10:])
	head := strings.Trim("ff-"+slug(tenant)+"-"+slug(project), "-")
	head = strings.Trim(head[:min(len(head), maxNamespace-len(tail)-1)], "-")
	return head + "-" + tail
}

// slug returns the part of a name that is valid in a namespace.
func slug(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String(), "-")
}
