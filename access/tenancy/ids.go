package tenancy

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
)

// maxKey bounds an idempotency key.
const maxKey = 200

// newID returns the id of something new. With an idempotency key it follows from
// who asks, where and the key, so that a repeated request finds what it made.
func newID(subject auth.Subject, what string, place uuid.UUID, key string) (uuid.UUID, error) {
	if len(key) > maxKey {
		return uuid.Nil, apperr.InvalidFields("The idempotency key is too long.", []apperr.Field{{Path: "Idempotency-Key", Message: fmt.Sprintf("Send at most %d bytes.", maxKey)}})
	}
	if key != "" {
		return uuid.NewSHA1(subject.ID, []byte(what+"\n"+place.String()+"\n"+key)), nil
	}
	id, err := uuid.NewV7()
	if err != nil {
		return id, fmt.Errorf("make an id: %w", err)
	}
	return id, nil
}

// sameAs answers a repeated idempotency key.
func sameAs(same bool) error {
	if same {
		return nil
	}
	return apperr.New(apperr.Conflict, "This idempotency key was used for another request.")
}

// maxNamespace is what Kubernetes allows for the name of a namespace.
const maxNamespace = 63

// namespace returns the Kubernetes namespace of a project: what people recognise,
// and enough of its id that no two are alike. Nobody chooses it, because a chosen
// one could be another's. It stays when names change.
func namespace(tenant, project string, id uuid.UUID) string {
	tail := hex.EncodeToString(id[10:])
	head := strings.Trim("ff-"+slug(tenant)+"-"+slug(project), "-")
	head = strings.Trim(head[:min(len(head), maxNamespace-len(tail)-1)], "-")
	return head + "-" + tail
}

// slug keeps of a name what a namespace may hold.
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
