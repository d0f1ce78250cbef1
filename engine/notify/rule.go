package notify

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Rule defines which events of a project go to which channels.
type Rule struct {
	Name       string
	Events     []Event
	Workflows  []string      // names or patterns with * of workflows, and of models for StageChanged; none: all
	Channels   []string      // names of connections
	SlowFactor float64       // of Slow: times the usual duration; 0: 2
	Waiting    time.Duration // of Waiting; 0: 10 minutes
	Deadline   time.Duration // of Overdue, after the scheduled time or the launch; required for Overdue
	QuietFrom  string        // HH:MM in Timezone; messages wait until QuietTo. Both are "" without quiet hours
	QuietTo    string
	Timezone   string // an IANA name; "": UTC
	Enabled    bool
	MutedUntil *time.Time // messages until then are not sent

	CreatedAt time.Time // set by the service, like the fields below
	CreatedBy string
	UpdatedAt time.Time
	UpdatedBy string
}

// Limits of rules.
const (
	MaxRules     = 200 // of a project
	MaxList      = 50  // workflows or channels of a rule
	maxName      = 100
	minFactor    = 1.1
	maxFactor    = 100
	minWaiting   = time.Minute // and deadline
	maxWaiting   = 7 * 24 * time.Hour
	maxMute      = 366 * 24 * time.Hour
	usualFactor  = 2
	usualWaiting = 10 * time.Minute
)

var clockTime = regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9]$`)

// IsClockTime reports whether text is a time of day such as 20:00.
func IsClockTime(text string) bool { return clockTime.MatchString(text) }

// check fills defaults and returns Invalid with the fields at fault.
func (r *Rule) check(now time.Time, known func(channel string) (bool, error)) error {
	var problems []apperr.Field
	refuse := func(when bool, field, format string, args ...any) {
		if when {
			problems = append(problems, apperr.Field{Path: field, Message: fmt.Sprintf(format, args...)})
		}
	}
	r.Name = strings.TrimSpace(r.Name)
	refuse(r.Name == "" || utf8.RuneCountInString(r.Name) > maxName || strings.ContainsAny(r.Name, "/\x00\n"), "name", `Enter 1 to %d characters without "/".`, maxName)
	refuse(strings.EqualFold(r.Name, "new"), "name", `"new" is reserved. Choose another name.`)
	refuse(len(r.Events) == 0, "events", "Choose at least one event.")
	for _, e := range r.Events {
		refuse(!slices.ContainsFunc(Events(), func(d Description) bool { return d.Event == e }), "events", "%q is not an event. The events are %s.", string(e), eventNames())
	}
	refuse(len(r.Workflows) > MaxList, "workflows", "Enter at most %d names.", MaxList)
	for _, w := range r.Workflows {
		_, err := path.Match(w, "")
		refuse(err != nil || w == "" || len(w) > 200, "workflows", "%q is not a name or a pattern such as digits.*", w)
	}
	refuse(len(r.Channels) == 0, "channels", "Choose at least one channel.")
	refuse(len(r.Channels) > MaxList, "channels", "Choose at most %d channels.", MaxList)
	for _, c := range r.Channels {
		ok, err := known(c)
		if err != nil {
			return err
		}
		refuse(!ok, "channels", "There is no channel called %q in this project. Add it as a connection.", c)
	}
	r.fillDefaults()
	refuse(r.SlowFactor < minFactor || r.SlowFactor > maxFactor, "slow_factor", "Enter %g to %d.", minFactor, maxFactor)
	refuse(r.Waiting < minWaiting || r.Waiting > maxWaiting, "waiting", "Enter 1 minute to 7 days.")
	refuse(r.Deadline == 0 && slices.Contains(r.Events, Overdue), "deadline", "Enter the time within which executions must finish.")
	refuse(r.Deadline != 0 && (r.Deadline < minWaiting || r.Deadline > maxWaiting), "deadline", "Enter 1 minute to 7 days.")
	for field, text := range map[string]string{"quiet_from": r.QuietFrom, "quiet_to": r.QuietTo} {
		refuse(text != "" && !IsClockTime(text), field, "Enter a time such as 20:00.")
	}
	refuse(r.QuietFrom != "" && r.QuietTo == "", "quiet_to", "Enter the end of the quiet hours.")
	refuse(r.QuietTo != "" && r.QuietFrom == "", "quiet_from", "Enter the start of the quiet hours.")
	refuse(r.QuietFrom != "" && r.QuietFrom == r.QuietTo, "quiet_to", "Enter a time that differs from the start.")
	_, err := time.LoadLocation(r.Timezone)
	refuse(err != nil || r.Timezone == "Local", "timezone", "%q is not a time zone. Enter a name such as Europe/Berlin.", r.Timezone)
	refuse(r.MutedUntil != nil && r.MutedUntil.Sub(now) > maxMute, "muted_until", "Enter a time within a year.")
	slices.SortFunc(problems, func(a, b apperr.Field) int { return strings.Compare(a.Path, b.Path) })
	return apperr.InvalidFields("The notification rule has invalid values.", problems)
}

func (r *Rule) fillDefaults() {
	r.Events, r.Workflows, r.Channels = unique(r.Events), unique(r.Workflows), unique(r.Channels)
	if r.SlowFactor == 0 {
		r.SlowFactor = usualFactor
	}
	if r.Waiting == 0 {
		r.Waiting = usualWaiting
	}
	if r.Timezone == "" {
		r.Timezone = "UTC"
	}
}

func eventNames() string {
	var names []string
	for _, d := range Events() {
		names = append(names, string(d.Event))
	}
	return strings.Join(names, ", ")
}

// unique returns list without repetitions, in its order, and never nil.
func unique[T comparable](list []T) []T {
	out := make([]T, 0, len(list))
	for _, v := range list {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// covers reports whether a pattern matches the name of a workflow.
func covers(pattern, workflow string) bool {
	ok, err := path.Match(pattern, workflow)
	return err == nil && ok
}

// Rules returns the rules of the current project by name.
func (s *Service) Rules(ctx context.Context) ([]Rule, error) {
	subject, err := reader(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := s.queries.ListNotificationRules(ctx, subject.ProjectID, MaxRules)
	if err != nil {
		return nil, fmt.Errorf("list notification rules: %w", err)
	}
	list := make([]Rule, len(rows))
	for i, row := range rows {
		list[i] = ruleOf(row)
	}
	return list, nil
}

// Rule returns a rule of the current project, or apperr.NotFound.
func (s *Service) Rule(ctx context.Context, name string) (Rule, error) {
	list, err := s.Rules(ctx)
	if err != nil {
		return Rule{}, err
	}
	i := slices.IndexFunc(list, func(r Rule) bool { return strings.EqualFold(r.Name, name) })
	if i < 0 {
		return Rule{}, absentRule(name)
	}
	return list[i], nil
}

// Put stores a rule in the current project. former is the name of the rule that it changes; "" for
// a new one. Errors: Invalid with fields, NotFound for former, and Conflict for a name that exists.
func (s *Service) Put(ctx context.Context, former string, r Rule) (Rule, error) {
	subject, err := editor(ctx)
	if err != nil {
		return Rule{}, err
	}
	now := s.now()
	err = db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		if err := r.check(now, func(name string) (bool, error) { return isChannel(ctx, q, subject.ProjectID, name) }); err != nil {
			return err
		}
		if former == "" {
			return s.insert(ctx, q, subject, r, now)
		}
		row, err := q.LockNotificationRule(ctx, subject.ProjectID, former)
		if db.IsNoRows(err) {
			return absentRule(former)
		}
		if err != nil {
			return err
		}
		before := ruleOf(row)
		if row.Added, err = addedBy(row, r, now); err != nil {
			return err
		}
		if r.Enabled && !row.Enabled {
			row.EnabledAt = now
		}
		r.apply(&row)
		row.UpdatedAt, row.UpdatedBy = now, subject.Name
		err = q.UpdateNotificationRule(ctx, db.UpdateNotificationRuleParams{
			ID: row.ID, Name: row.Name, Events: row.Events, Workflows: row.Workflows, Channels: row.Channels, SlowFactor: row.SlowFactor, WaitingSeconds: row.WaitingSeconds, DeadlineSeconds: row.DeadlineSeconds,
			QuietFrom: row.QuietFrom, QuietTo: row.QuietTo, Timezone: row.Timezone, Enabled: row.Enabled, EnabledAt: row.EnabledAt, MutedUntil: row.MutedUntil, Added: row.Added,
			UpdatedAt: row.UpdatedAt, UpdatedBy: row.UpdatedBy,
		})
		if err != nil {
			return taken(err, r.Name)
		}
		return audit.Record(ctx, q, entry("notification_rule.update", row, factsOf(before), factsOf(r)))
	})
	if err != nil {
		return Rule{}, fmt.Errorf("store notification rule %s: %w", r.Name, err)
	}
	return s.Rule(ctx, r.Name)
}

func (s *Service) insert(ctx context.Context, q *db.Queries, subject auth.Subject, r Rule, now time.Time) error {
	n, err := q.CountNotificationRules(ctx, subject.ProjectID)
	if err != nil {
		return err
	}
	if n >= MaxRules {
		return apperr.New(apperr.Conflict, "The project has %d notification rules, the maximum. Delete unused rules.", n)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("make rule id: %w", err)
	}
	row := db.NotificationRule{ID: id, TenantID: subject.TenantID, ProjectID: subject.ProjectID, EnabledAt: now, Added: []byte("{}"), CreatedAt: now, CreatedBy: subject.Name, UpdatedAt: now, UpdatedBy: subject.Name}
	r.apply(&row)
	if err := q.InsertNotificationRule(ctx, db.InsertNotificationRuleParams(row)); err != nil {
		return taken(err, r.Name)
	}
	return audit.Record(ctx, q, entry("notification_rule.create", row, nil, factsOf(r)))
}

// Delete removes a rule from the current project, or returns apperr.NotFound. Its messages stay.
func (s *Service) Delete(ctx context.Context, name string) error {
	subject, err := editor(ctx)
	if err != nil {
		return err
	}
	return db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		row, err := q.LockNotificationRule(ctx, subject.ProjectID, name)
		if db.IsNoRows(err) {
			return absentRule(name)
		}
		if err != nil {
			return fmt.Errorf("lock notification rule %s: %w", name, err)
		}
		if err := q.DeleteNotificationRule(ctx, row.ID); err != nil {
			return fmt.Errorf("delete notification rule %s: %w", name, err)
		}
		return audit.Record(ctx, q, entry("notification_rule.delete", row, factsOf(ruleOf(row)), nil))
	})
}

func taken(err error, name string) error {
	if db.Constraint(err) != "notification_rules_name_key" {
		return err
	}
	return &apperr.Error{Code: apperr.Conflict, Message: fmt.Sprintf("A notification rule called %q already exists.", name),
		Fields: []apperr.Field{{Path: "name", Message: "This name already exists. Choose another name, or edit that rule."}}}
}

// apply sets the columns that people edit.
func (r Rule) apply(row *db.NotificationRule) {
	row.Name, row.Workflows, row.Channels = r.Name, r.Workflows, r.Channels
	row.Events = row.Events[:0:0]
	for _, e := range r.Events {
		row.Events = append(row.Events, string(e))
	}
	row.SlowFactor, row.WaitingSeconds = r.SlowFactor, int32(r.Waiting/time.Second) //nolint:gosec // at most maxWaiting
	row.DeadlineSeconds = int32(r.Deadline / time.Second)                           //nolint:gosec // at most maxWaiting
	row.QuietFrom, row.QuietTo, row.Timezone, row.Enabled, row.MutedUntil = r.QuietFrom, r.QuietTo, r.Timezone, r.Enabled, r.MutedUntil
}

func ruleOf(row db.NotificationRule) Rule {
	r := Rule{
		Name: row.Name, Workflows: row.Workflows, Channels: row.Channels, SlowFactor: row.SlowFactor, Waiting: time.Duration(row.WaitingSeconds) * time.Second,
		Deadline: time.Duration(row.DeadlineSeconds) * time.Second, QuietFrom: row.QuietFrom, QuietTo: row.QuietTo, Timezone: row.Timezone, Enabled: row.Enabled, MutedUntil: row.MutedUntil,
		CreatedAt: row.CreatedAt, CreatedBy: row.CreatedBy, UpdatedAt: row.UpdatedAt, UpdatedBy: row.UpdatedBy,
	}
	for _, e := range row.Events {
		r.Events = append(r.Events, Event(e))
	}
	return r
}

// facts are the fields for the audit log.
type facts struct {
	Events     []Event    `json:"events"`
	Workflows  []string   `json:"workflows,omitempty"`
	Channels   []string   `json:"channels"`
	Enabled    bool       `json:"enabled"`
	SlowFactor float64    `json:"slow_factor"`
	Waiting    float64    `json:"waiting_seconds"`
	Deadline   float64    `json:"deadline_seconds,omitempty"`
	QuietFrom  string     `json:"quiet_from,omitempty"`
	QuietTo    string     `json:"quiet_to,omitempty"`
	Timezone   string     `json:"timezone"`
	MutedUntil *time.Time `json:"muted_until,omitempty"`
}

func factsOf(r Rule) facts {
	return facts{
		Events: r.Events, Workflows: r.Workflows, Channels: r.Channels, Enabled: r.Enabled, SlowFactor: r.SlowFactor, Waiting: r.Waiting.Seconds(), Deadline: r.Deadline.Seconds(),
		QuietFrom: r.QuietFrom, QuietTo: r.QuietTo, Timezone: r.Timezone, MutedUntil: r.MutedUntil,
	}
}

func entry(action string, row db.NotificationRule, before, after any) audit.Entry {
	return audit.Entry{Action: action, Kind: "notification_rule", ID: row.ID.String(), Name: row.Name, TenantID: row.TenantID, ProjectID: row.ProjectID, Old: before, New: after}
}
