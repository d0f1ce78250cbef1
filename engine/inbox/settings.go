package inbox

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/mail"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/notify"
)

// Digest is how often a person receives e-mails.
type Digest string

// The digests.
const (
	Immediately Digest = "immediately"
	Hourly      Digest = "hourly"
	Daily       Digest = "daily"
)

// Digests returns all digests.
func Digests() []Digest { return []Digest{Immediately, Hourly, Daily} }

// Limits of settings.
const (
	MaxMuted = 100
	MaxName  = 200 // characters of a muted name

	defaultDigestAt = "08:00"
)

// Settings are what a person wants to be notified of.
type Settings struct {
	Modes     map[notify.Event]Mode // of all events
	Address   string                // for e-mail; only of a person without an address from a sign-in provider
	Digest    Digest                // "": Immediately
	DigestAt  string                // HH:MM in Timezone, of a daily digest; "": 08:00
	QuietFrom string                // HH:MM in Timezone; e-mails wait until QuietTo. Both are "" without quiet hours
	QuietTo   string
	Timezone  string   // an IANA name; "": UTC
	Muted     []string // names or patterns with * of workflows and models
}

// Account are the settings of a person and how e-mail reaches them.
type Account struct {
	Settings
	Stored     bool   // false: these are the defaults
	Email      string // where e-mails go; "": nowhere
	Provided   bool   // by the sign-in provider: the person cannot change it here
	MailServer bool   // the installation has a mail server
	MailError  string // why the last e-mail could not be sent; "" after a success
}

// check fills defaults and returns Invalid with the fields at fault.
func (st *Settings) check(provided bool) error {
	var problems []apperr.Field
	refuse := func(when bool, field, format string, args ...any) {
		if when {
			problems = append(problems, apperr.Field{Path: field, Message: fmt.Sprintf(format, args...)})
		}
	}
	st.fillDefaults()
	for event := range st.Modes {
		_, known := Describe(event)
		refuse(!known, "events", "%q is not an inbox event.", string(event))
	}
	st.Address = strings.TrimSpace(st.Address)
	if st.Address != "" {
		parsed, err := mail.ParseAddress(st.Address)
		refuse(provided, "address", "Your e-mail address comes from the sign-in provider. Change it there.")
		refuse(!provided && (err != nil || parsed.Address != st.Address || len(st.Address) > 254), "address", "Enter an e-mail address such as ada@example.com.")
	}
	refuse(!slices.Contains(Digests(), st.Digest), "digest", "Choose immediately, hourly or daily.")
	for field, text := range map[string]string{"digest_at": st.DigestAt, "quiet_from": st.QuietFrom, "quiet_to": st.QuietTo} {
		refuse(text != "" && !notify.IsClockTime(text), field, "Enter a time such as 20:00.")
	}
	refuse(st.QuietFrom != "" && st.QuietTo == "", "quiet_to", "Enter the end of the quiet hours.")
	refuse(st.QuietTo != "" && st.QuietFrom == "", "quiet_from", "Enter the start of the quiet hours.")
	refuse(st.QuietFrom != "" && st.QuietFrom == st.QuietTo, "quiet_to", "Enter a time that differs from the start.")
	_, err := time.LoadLocation(st.Timezone)
	refuse(err != nil || st.Timezone == "Local", "timezone", "%q is not a time zone. Enter a name such as Europe/Berlin.", st.Timezone)
	refuse(len(st.Muted) > MaxMuted, "muted", "Enter at most %d names.", MaxMuted)
	for _, name := range st.Muted {
		_, err := path.Match(name, "")
		refuse(err != nil || name == "" || len(name) > MaxName || strings.ContainsRune(name, 0), "muted", "%q is not a name or a pattern such as digits.*", name)
	}
	slices.SortFunc(problems, func(a, b apperr.Field) int { return strings.Compare(a.Path, b.Path) })
	return apperr.InvalidFields("The notification settings have invalid values.", problems)
}

func (st *Settings) fillDefaults() {
	modes := map[notify.Event]Mode{}
	maps.Copy(modes, st.Modes)
	for _, d := range Events() {
		if _, ok := modes[d.Event]; !ok {
			modes[d.Event] = d.Default
		}
	}
	st.Modes = modes
	if st.Digest == "" {
		st.Digest = Immediately
	}
	if st.DigestAt == "" {
		st.DigestAt = defaultDigestAt
	}
	if st.Timezone == "" {
		st.Timezone = "UTC"
	}
	muted := make([]string, 0, len(st.Muted))
	for _, name := range st.Muted {
		if name = strings.TrimSpace(name); !slices.Contains(muted, name) {
			muted = append(muted, name)
		}
	}
	st.Muted = muted
}

// modeOf returns the first of the events that the person wants to be notified of, and where.
func (st *Settings) modeOf(events []notify.Event) (notify.Event, Mode) {
	for _, e := range events {
		if m := st.Modes[e]; !m.off() {
			return e, m
		}
	}
	return "", Mode{}
}

func (st *Settings) mutes(subject string) bool {
	return slices.ContainsFunc(st.Muted, func(p string) bool {
		ok, err := path.Match(p, subject)
		return err == nil && ok
	})
}

// due is the time at which an e-mail about an event at a given time is sent.
func (st *Settings) due(at time.Time) time.Time {
	zone, due := st.zone(), at
	switch local := at.In(zone); st.Digest {
	case Hourly:
		due = at.Truncate(time.Hour).Add(time.Hour)
	case Daily:
		clock, err := time.Parse("15:04", st.DigestAt)
		if err != nil {
			break
		}
		due = time.Date(local.Year(), local.Month(), local.Day(), clock.Hour(), clock.Minute(), 0, 0, zone)
		if !due.After(at) {
			due = time.Date(local.Year(), local.Month(), local.Day()+1, clock.Hour(), clock.Minute(), 0, 0, zone)
		}
	case Immediately:
	}
	return st.awake(due)
}

func (st *Settings) zone() *time.Location {
	zone, err := time.LoadLocation(st.Timezone)
	if err != nil {
		return time.UTC // the zone was removed from the database of zones
	}
	return zone
}

// awake returns at, or the end of the quiet hours that contain it.
func (st *Settings) awake(at time.Time) time.Time {
	if until, quiet := notify.QuietUntil(at, st.QuietFrom, st.QuietTo, st.zone()); quiet {
		return until.UTC()
	}
	return at.UTC()
}

// receiver is a person with their settings.
type receiver struct {
	Settings
	id       uuid.UUID
	email    string
	provided bool
	stored   bool
}

func receiverOf(row db.InboxPeopleRow) (receiver, error) {
	r := receiver{id: row.ID, email: row.Email, provided: row.Provided || row.Email != "", stored: row.SettingsOf != nil}
	r.Settings = Settings{
		Modes: map[notify.Event]Mode{}, Address: row.Address, Digest: Digest(row.Digest), DigestAt: row.DigestAt, QuietFrom: row.QuietFrom, QuietTo: row.QuietTo,
		Timezone: row.Timezone, Muted: row.Muted,
	}
	var names map[notify.Event]string
	if err := json.Unmarshal(row.Modes, &names); err != nil {
		return r, fmt.Errorf("notification settings of user %s: %w", row.ID, err)
	}
	for event, name := range names {
		if mode, ok := ParseMode(name); ok {
			r.Modes[event] = mode
		}
	}
	r.fillDefaults()
	if !r.provided {
		r.email = r.Address
	}
	return r, nil
}

// receivers returns the users with these IDs.
func receivers(ctx context.Context, q *db.Queries, ids []uuid.UUID) ([]receiver, error) {
	rows, err := q.InboxPeople(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("find users: %w", err)
	}
	list := make([]receiver, len(rows))
	for i, row := range rows {
		if list[i], err = receiverOf(row); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Account returns the settings of the caller.
func (s *Service) Account(ctx context.Context) (Account, error) {
	subject, err := person(ctx)
	if err != nil {
		return Account{}, err
	}
	r, err := s.receiver(ctx, s.queries, subject.ID)
	if err != nil {
		return Account{}, err
	}
	a := Account{Settings: r.Settings, Stored: r.stored, Email: r.email, Provided: r.provided, MailServer: s.config.Mail.Set()}
	failed, err := s.queries.LastFailedInboxMail(ctx, subject.ID)
	if err != nil && !db.IsNoRows(err) {
		return Account{}, fmt.Errorf("last e-mail to user %s: %w", subject.ID, err)
	}
	a.MailError = failed.MailError
	return a, nil
}

func (s *Service) receiver(ctx context.Context, q *db.Queries, id uuid.UUID) (receiver, error) {
	list, err := receivers(ctx, q, []uuid.UUID{id})
	if err != nil {
		return receiver{}, err
	}
	if len(list) == 0 {
		return receiver{}, apperr.New(apperr.Forbidden, "Only users have an inbox. Service accounts have none.")
	}
	return list[0], nil
}

// Put stores the settings of the caller. Events that it leaves out have their default. Error: Invalid
// with fields.
func (s *Service) Put(ctx context.Context, st Settings) (Account, error) {
	return s.edit(ctx, func(*Settings) Settings { return st })
}

// Mute adds a workflow or a model to the muted ones of the caller.
func (s *Service) Mute(ctx context.Context, name string) error {
	_, err := s.edit(ctx, func(before *Settings) Settings {
		st := *before
		st.Muted = append(slices.Clone(st.Muted), name)
		return st
	})
	return err
}

func (s *Service) edit(ctx context.Context, change func(before *Settings) Settings) (Account, error) {
	subject, err := editor(ctx)
	if err != nil {
		return Account{}, err
	}
	err = db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		// The first settings of a person have no row yet, so the lock is that of the person.
		if _, err := q.LockUser(ctx, subject.ID); err != nil && !db.IsNoRows(err) {
			return err
		}
		before, err := s.receiver(ctx, q, subject.ID)
		if err != nil {
			return err
		}
		st := change(&before.Settings)
		if err := st.check(before.provided); err != nil {
			return err
		}
		modes, err := json.Marshal(st.named())
		if err != nil {
			return fmt.Errorf("encode modes: %w", err)
		}
		err = q.PutInboxSettings(ctx, db.PutInboxSettingsParams{
			UserID: subject.ID, Modes: modes, Address: st.Address, Digest: string(st.Digest), DigestAt: st.DigestAt, QuietFrom: st.QuietFrom, QuietTo: st.QuietTo,
			Timezone: st.Timezone, Muted: st.Muted, UpdatedAt: s.now(),
		})
		if err != nil {
			return err
		}
		return audit.Record(ctx, q, audit.Entry{
			Action: "inbox.settings", Kind: "user", ID: subject.ID.String(), Name: subject.Name, TenantID: subject.TenantID, Old: before.facts(), New: st.facts(),
		})
	})
	if err != nil {
		return Account{}, fmt.Errorf("store notification settings of user %s: %w", subject.ID, err)
	}
	return s.Account(ctx)
}

// named are the names of the modes that differ from the default.
func (st *Settings) named() map[notify.Event]string {
	names := map[notify.Event]string{}
	for _, d := range Events() {
		if m := st.Modes[d.Event]; m != d.Default {
			names[d.Event] = m.String()
		}
	}
	return names
}

// facts are the settings for the audit log.
func (st *Settings) facts() map[string]any {
	return map[string]any{"events": st.named(), "address": st.Address, "digest": st.Digest, "muted": st.Muted}
}
