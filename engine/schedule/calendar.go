package schedule

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Limits of calendars.
const (
	MaxHolidays     = 2000
	MaxBlackouts    = 500
	maxReason       = 200  // characters of the name of a holiday and the reason of a blackout
	maxDescription  = 2000 // characters
	maxCalendarName = 100  // characters
)

// Calendar is a named list of a project: holidays, a weekend and blackouts. Schedules that use
// it do not run on its holidays and during its blackouts.
type Calendar struct {
	ID          uuid.UUID
	Name        string
	Description string
	Weekend     []string // days of the week that are no business days, such as SAT
	Holidays    []Holiday
	Blackouts   []Blackout
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

func calendarOf(row db.ScheduleCalendar) (*Calendar, error) {
	c := &Calendar{ID: row.ID, Name: row.Name, Description: row.Description, Weekend: row.Weekend, CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC()}
	if err := json.Unmarshal(row.Holidays, &c.Holidays); err != nil {
		return nil, fmt.Errorf("holidays of calendar %s: %w", row.ID, err)
	}
	if err := json.Unmarshal(row.Blackouts, &c.Blackouts); err != nil {
		return nil, fmt.Errorf("blackouts of calendar %s: %w", row.ID, err)
	}
	return c, nil
}

// findCalendar sets the calendar that a When names. It returns Invalid for a name that the
// project does not have.
func (s *Service) findCalendar(ctx context.Context, project uuid.UUID, w *When) error {
	w.calendar = nil
	if w.Calendar = strings.TrimSpace(w.Calendar); w.Calendar == "" {
		return nil
	}
	row, err := s.queries.CalendarByName(ctx, project, w.Calendar)
	if db.IsNoRows(err) {
		return apperr.InvalidFields("The schedule cannot be read.", []apperr.Field{{Path: "calendar", Message: fmt.Sprintf("There is no calendar %q in the project. Create it first.", w.Calendar)}})
	}
	if err != nil {
		return fmt.Errorf("calendar %q: %w", w.Calendar, err)
	}
	if w.calendar, err = calendarOf(row); err == nil {
		w.Calendar = w.calendar.Name
	}
	return err
}

// read returns the schedule of a row with its calendar and its timing, and the problems of the
// timing.
func (s *Service) read(ctx context.Context, q *db.Queries, row db.Schedule) (Schedule, timing, []apperr.Field, error) {
	return s.readShared(ctx, q, row, newShared(s.now()))
}

// legible is read for callers that compute fires. It returns Conflict for a schedule that can no longer be
// read.
func (s *Service) legible(ctx context.Context, q *db.Queries, row db.Schedule) (Schedule, timing, error) {
	sc, t, fields, err := s.read(ctx, q, row)
	if err == nil && len(fields) > 0 {
		err = apperr.New(apperr.Conflict, "%s", unreadable(fields))
	}
	return sc, t, err
}

// unreadable says why a stored schedule can no longer be read, such as because of a time zone that a newer
// database of time zones does not have.
func unreadable(fields []apperr.Field) string {
	return "The schedule can no longer be read: " + fields[0].Message
}

// fill sorts and completes a calendar.
func (c *Calendar) fill() {
	c.Name = strings.TrimSpace(c.Name)
	if c.Weekend == nil {
		c.Weekend = []string{"SAT", "SUN"}
	}
	for i, day := range c.Weekend {
		c.Weekend[i] = strings.ToUpper(day)
	}
	c.Holidays, c.Blackouts = slices.Clone(c.Holidays), slices.Clone(c.Blackouts)
	slices.SortFunc(c.Holidays, func(a, b Holiday) int { return strings.Compare(a.Date, b.Date) })
	slices.SortFunc(c.Blackouts, func(a, b Blackout) int { return a.Starts.Compare(b.Starts) })
	if c.Holidays == nil {
		c.Holidays = []Holiday{}
	}
	if c.Blackouts == nil {
		c.Blackouts = []Blackout{}
	}
}

// problems returns the invalid fields of a calendar. Paths are those of the API.
func (c *Calendar) problems() (fields []apperr.Field) {
	refuse := func(bad bool, path, format string, args ...any) {
		if bad {
			fields = append(fields, apperr.Field{Path: path, Message: fmt.Sprintf(format, args...)})
		}
	}
	line := func(text, path string, most int) {
		refuse(utf8.RuneCountInString(text) > most, path, "At most %d characters.", most)
		refuse(!utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl), path, "Use one line of text.")
	}
	refuse(c.Name == "", "name", "Enter a name.")
	line(c.Name, "name", maxCalendarName)
	_, err := uuid.Parse(c.Name)
	refuse(err == nil, "name", "Choose a name that is not an ID.")
	refuse(utf8.RuneCountInString(c.Description) > maxDescription, "description", "At most %d characters.", maxDescription)
	_, wrong := readWeek(c.Weekend)
	refuse(wrong != "", "weekend", "%q is not a day of the week. Use %s.", wrong, strings.Join(Days(), ", "))
	refuse(len(c.Holidays) > MaxHolidays, "holidays", "A calendar has at most %d holidays.", MaxHolidays)
	refuse(len(c.Blackouts) > MaxBlackouts, "blackouts", "A calendar has at most %d blackouts.", MaxBlackouts)
	if len(fields) > 0 {
		return fields
	}
	for i, h := range c.Holidays {
		path := fmt.Sprintf("holidays.%d", i)
		date, err := time.Parse(time.DateOnly, h.Date)
		refuse(err != nil || date.Year() < 1970 || date.Year() > 2199, path, "%q is not a date. Use a date such as 2026-12-25.", h.Date)
		refuse(i > 0 && c.Holidays[i-1].Date == h.Date, path, "%s appears twice in the list.", h.Date)
		line(h.Name, path, maxReason)
	}
	for i, b := range c.Blackouts {
		path := fmt.Sprintf("blackouts.%d", i)
		refuse(!b.Ends.After(b.Starts), path, "The end must be after the start.")
		refuse(b.Starts.Year() < 1970 || b.Ends.Year() > 2199, path, "Enter times from 1970 to 2199.")
		line(b.Reason, path, maxReason)
	}
	return fields
}

func absentCalendar(ref string) error {
	return apperr.New(apperr.NotFound, "There is no calendar %q in the project.", ref)
}

// Calendars are the calendars of projects.
type Calendars struct{ service *Service }

// Calendars returns the calendars that schedules use.
func (s *Service) Calendars() Calendars { return Calendars{s} }

// List returns the calendars of the caller's project by name.
func (l Calendars) List(ctx context.Context) ([]Calendar, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return nil, err
	}
	rows, err := l.service.queries.ListCalendars(ctx, subject.ProjectID)
	if err != nil {
		return nil, fmt.Errorf("list calendars: %w", err)
	}
	list := make([]Calendar, 0, len(rows))
	for _, row := range rows {
		calendar, err := calendarOf(row)
		if err != nil {
			return nil, err
		}
		list = append(list, *calendar)
	}
	return list, nil
}

// Get returns a calendar of the caller's project by its name or ID.
func (l Calendars) Get(ctx context.Context, ref string) (Calendar, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return Calendar{}, err
	}
	row, err := calendarRow(ctx, l.service.queries, subject.ProjectID, ref)
	if err != nil {
		return Calendar{}, err
	}
	calendar, err := calendarOf(row)
	if err != nil {
		return Calendar{}, err
	}
	return *calendar, nil
}

// calendarRow returns a calendar of a project by its name or ID. It returns NotFound for one that the
// project does not have.
func calendarRow(ctx context.Context, q *db.Queries, project uuid.UUID, ref string) (row db.ScheduleCalendar, err error) {
	if id, failed := uuid.Parse(ref); failed == nil { // no name is an ID
		row, err = q.GetCalendar(ctx, id)
	} else {
		row, err = q.CalendarByName(ctx, project, ref)
	}
	if db.IsNoRows(err) || err == nil && row.ProjectID != project {
		return row, absentCalendar(ref)
	}
	if err != nil {
		return row, fmt.Errorf("calendar %q: %w", ref, err)
	}
	return row, nil
}

// CalendarUse is a schedule that uses a calendar.
type CalendarUse struct {
	Calendar uuid.UUID
	ID       uuid.UUID // of the schedule
	Name     string
	Workflow string
}

// Uses returns the schedules of the caller's project that use a calendar, by name.
func (l Calendars) Uses(ctx context.Context) ([]CalendarUse, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return nil, err
	}
	rows, err := l.service.queries.CalendarUses(ctx, subject.ProjectID)
	if err != nil {
		return nil, fmt.Errorf("find the schedules with a calendar: %w", err)
	}
	uses := make([]CalendarUse, len(rows))
	for i, r := range rows {
		uses[i] = CalendarUse(r)
	}
	return uses, nil
}
