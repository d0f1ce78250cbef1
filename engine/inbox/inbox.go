// Package inbox notifies users about the results of executions that they launched, requests that
// wait for their answer, their schedules, and models. The leader turns events of the feed into items
// of inboxes and sends e-mails about them. A person sees only their own items, and only those of
// projects that they may read.
package inbox

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/notify"
)

// Mail is the mail server of the installation. The zero value means that there is none.
type Mail struct {
	Host, Port    string
	Security      string // message.StartTLS, message.TLS or message.Plain
	From          string
	User          string // "": no authentication
	Password      string
	CACertificate string // PEM; "": the certificates of the system
}

// Set reports whether there is a mail server.
func (m Mail) Set() bool { return m.Host != "" }

// LogValue keeps the password out of logs.
func (m Mail) LogValue() slog.Value {
	return slog.GroupValue(slog.String("host", m.Host), slog.String("port", m.Port), slog.String("from", m.From))
}

func (m Mail) channel(to string) message.Channel {
	return message.Channel{
		Kind:     message.Email,
		Settings: map[string]any{"host": m.Host, "port": m.Port, "security": m.Security, "from": m.From, "to": to, "username": m.User, "ca_certificate": m.CACertificate},
		Secrets:  map[string]string{"password": m.Password},
	}
}

// Config configures a Service. Pool, Notifications, MayRead and PublicURL are required, and Dialer if there
// is a mail server.
type Config struct {
	Pool          *pgxpool.Pool
	Notifications *notify.Service // describes the ends of executions
	// MayRead reports whether a user may now read the executions of a project.
	MayRead   func(user, project uuid.UUID) bool
	Mail      Mail
	Dialer    message.Dialer // reaches the mail server
	PublicURL string         // of the site, without a slash at the end; e-mails link to it

	// Every is how often the loop looks for events and due e-mails, at most. Zero means two seconds.
	Every time.Duration
	// Watch reports new events and e-mails. Nil: the loop polls at the interval Every.
	Watch *db.Watch
	// Crash, when set, is called with the name of each point where a crash must be harmless.
	Crash func(point string)

	Logger *slog.Logger
	Now    func() time.Time
}

// Service keeps the items and settings of users, and creates and sends items in the process that calls
// Run. It is safe for concurrent use.
type Service struct {
	config  Config
	queries *db.Queries
	wake    chan struct{}
}

// New returns a Service that creates no items yet.
func New(c Config) *Service {
	if c.Every == 0 {
		c.Every = 2 * time.Second
	}
	if c.Crash == nil {
		c.Crash = func(string) {}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{config: c, queries: db.New(c.Pool), wake: make(chan struct{}, 1)}
}

// Keep is how long items are kept.
const Keep = 90 * 24 * time.Hour

const cleans = time.Hour

// Wake makes the loop of this process check the feed now.
func (s *Service) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run creates items and sends e-mails until ctx ends. The leader calls it; a second loop would do no harm,
// since a lock protects the position in the feed, and an attempt to send claims its items first.
func (s *Service) Run(ctx context.Context) {
	ctx = auth.AsSystem(ctx)
	var all sync.WaitGroup
	all.Go(func() { s.runFeed(ctx) })
	if s.config.Mail.Set() {
		all.Go(func() { s.runMail(ctx) }) // a mail server that does not respond delays no items
	}
	all.Wait()
}

// runFeed creates items and removes old ones until ctx ends.
func (s *Service) runFeed(ctx context.Context) {
	var cleaned time.Time
	for ctx.Err() == nil {
		turn, most := s.config.Watch.Turn(), db.Safety
		more, err := s.Receive(ctx)
		if err != nil {
			most = s.config.Every
		}
		s.logged(ctx, "events could not be passed to inboxes; the next attempt retries them", err)
		if now := time.Now(); now.Sub(cleaned) >= cleans {
			cleaned = now
			s.logged(ctx, "old items of inboxes could not be removed", s.clean(ctx))
		}
		if !more || err != nil {
			turn.Rest(ctx, s.wake, s.config.Every, most)
		}
	}
}

// runMail sends e-mails until ctx ends.
func (s *Service) runMail(ctx context.Context) {
	for ctx.Err() == nil {
		turn, most := s.config.Watch.Turn(), s.config.Every
		err := s.sendDue(ctx)
		s.logged(ctx, "e-mails to users could not be sent; the next attempt retries them", err)
		if err == nil {
			most = s.untilMail(ctx)
		}
		turn.Rest(ctx, nil, s.config.Every, most)
	}
}

// untilMail is how long the loop waits at most: until the next e-mail is due.
func (s *Service) untilMail(ctx context.Context) time.Duration {
	due, err := s.queries.NextInboxMail(ctx)
	if db.IsNoRows(err) {
		return db.Safety
	}
	if err != nil {
		return s.config.Every
	}
	return db.RestUntil(&due, s.now(), s.config.Every)
}

// clean removes old items.
func (s *Service) clean(ctx context.Context) error {
	return s.queries.DeleteOldInboxItems(ctx, s.now().Add(-Keep))
}

func (s *Service) logged(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		s.config.Logger.Warn(what, "error", err)
	}
}

// now is the current time in UTC, with the precision of Postgres.
func (s *Service) now() time.Time { return s.config.Now().UTC().Truncate(time.Microsecond) }

// person authorizes reading the inbox of the caller.
func person(ctx context.Context) (auth.Subject, error) {
	subject, err := auth.SignedIn(ctx)
	if err != nil {
		return auth.Subject{}, err
	}
	if subject.ID == uuid.Nil || subject.Task != nil || subject.Role != auth.RoleUser && subject.Role != auth.RoleAdmin {
		return auth.Subject{}, apperr.New(apperr.Forbidden, "Only users have an inbox. Service accounts have none.")
	}
	return subject, nil
}

// editor authorizes changes of the caller's inbox. A key of scope read cannot make any.
func editor(ctx context.Context) (auth.Subject, error) {
	subject, err := person(ctx)
	if err != nil {
		return auth.Subject{}, err
	}
	if subject.ReadOnly {
		return auth.Subject{}, apperr.New(apperr.Forbidden, "This API key has the scope read. To change the inbox, use a key with the scope launch.")
	}
	return subject, nil
}

func absent(id uuid.UUID) error {
	return apperr.New(apperr.NotFound, "There is no item %s in your inbox.", id)
}
