// Package page contains what all pages share: the frame, the reader's preferences, error
// pages and streams of updates.
package page

import (
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/inbox"
	"github.com/flowforge/flowforge/engine/notify"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/sharing"
	"github.com/flowforge/flowforge/web"
)

// Config contains the dependencies of the shell.
type Config struct {
	Now           func() time.Time
	Site          *web.Site
	Policies      *auth.Policies // the projects to choose among
	Executions    *query.Reader
	Notifications *notify.Service
	Inbox         *inbox.Service
	Scope         request.Scope
}

// Shell draws the frame of pages and keeps their streams. It is safe for concurrent use.
type Shell struct {
	Config

	figures *sharing.Reads[uuid.UUID, figures] // by project
	bells   *sharing.Reads[bellKey, inbox.Bell]
}

// shareFor is how long streams share the numbers of the frame.
const shareFor = 250 * time.Millisecond

// New returns the shell of pages.
func New(c Config) *Shell {
	return &Shell{Config: c, figures: sharing.New[uuid.UUID, figures](shareFor, time.Now), bells: sharing.New[bellKey, inbox.Bell](shareFor, time.Now)}
}

// Open serves f to everyone.
func (h *Shell) Open(f web.HandlerFunc) http.HandlerFunc { return h.Site.Handler(f) }

// Serve serves f to signed-in readers, in the project of the object in the path.
func (h *Shell) Serve(f web.HandlerFunc) http.HandlerFunc { return h.Scope.Page(f) }
