package metaflowruns

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/metaflow/datastore"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// addFiles adds the log and the cards of a task. A datastore that cannot be read is no error.
func (h *Pages) addFiles(ctx context.Context, x *taskView, m *views.MetaflowTask) error {
	m.Logs = views.Logs{
		Action: views.MetaflowTaskURL(x.Flow, x.Run, x.Step, x.ID) + "#logs", Hidden: [][2]string{{"attempt", strconv.FormatInt(x.attempt, 10)}}, Query: x.query,
		Follow: !x.attemptEnded() && x.query == "", DownloadURL: views.MetaflowLogURL(x.Flow, x.Run, x.Step, x.ID, x.attempt), Empty: "No log output",
	}
	if m.Logs.Follow {
		m.Logs.Empty = "No log output yet"
	}
	if _, err := auth.Authorize(ctx, auth.LogRead); err != nil {
		m.CardsWhy, m.Logs.Problem, m.Logs.Follow = apperr.MessageOf(err), apperr.MessageOf(err), false
		return nil
	}
	limited, cancel := x.limit(ctx)
	defer cancel()
	store, err := h.Datastores.Open(limited)
	var lines []datastore.LogLine
	var log *datastore.Log
	if err == nil {
		log, err = datastore.NewLog(store, x.Task, x.attempt)
	}
	if err == nil {
		lines, err = log.Next(limited, x.attemptEnded())
	}
	var cards []datastore.Card
	_, refused := auth.Authorize(ctx, auth.ArtifactRead)
	if err == nil && refused == nil {
		cards, err = datastore.Cards(limited, store, x.carded)
	}
	if err = inTime(ctx, limited, err); err != nil {
		if apperr.Is(err, apperr.Internal) {
			return err
		}
		m.CardsWhy, m.Logs.Problem, m.Logs.Follow = unread(err), unread(err), false
		return nil
	}
	if log.Cut() {
		m.Logs.Note = "Only the last 5,000 lines are shown, from the last 256 KiB of each stream. Download the log for all lines."
	}
	m.Logs.Lines, m.Logs.Cursor = x.lines(lines, x.query, 0), log.Cursor()
	if x.query != "" {
		m.Logs.Hits = units.Plural(len(m.Logs.Lines), "hit", "hits")
	}
	m.Cards = x.cards(cards)
	if refused != nil {
		m.CardsWhy = apperr.MessageOf(refused)
	}
	return nil
}

// lines are lines of a log that contain a text; first is the number of those before.
func (x *taskView) lines(lines []datastore.LogLine, text string, first int) []views.LogLine {
	var out []views.LogLine
	for i, l := range lines {
		if text != "" && !strings.Contains(strings.ToLower(l.Text), strings.ToLower(text)) {
			continue
		}
		line := views.LogLine{ID: "L" + strconv.Itoa(first+i+1), Parts: views.LogParts(l.Text, text), Stderr: l.Stderr}
		if !l.Time.IsZero() {
			at := x.clock.Exactly(l.Time)
			line.Time, line.Exact = at.Text, at.Exact
		}
		out = append(out, line)
	}
	return out
}

// cards are the cards of a task, each with an address that changes with its content.
func (x *taskView) cards(cards []datastore.Card) []views.MetaflowCard {
	out := []views.MetaflowCard{}
	for _, c := range cards {
		title := c.ID
		if title == "" {
			title = "Card"
		}
		version := strconv.FormatInt(c.Modified.UnixMilli(), 10) + "-" + strconv.FormatInt(c.Size, 10)
		out = append(out, views.MetaflowCard{
			Title: title, Type: c.Type, URL: views.MetaflowCardURL(x.carded.Flow, x.carded.Run, x.carded.Step, x.carded.ID, c.File, version),
			Size: units.Bytes(c.Size), Modified: x.clock.Exactly(c.Modified),
		})
	}
	return out
}

// taskStream sends the changes of a task, the new lines of its log and changed cards, until the task
// has ended.
func (h *Pages) taskStream(w http.ResponseWriter, r *http.Request) error {
	if _, err := auth.Authorize(r.Context(), auth.LogRead); err != nil {
		return err
	}
	x, err := h.loadTask(r)
	if err != nil {
		return err
	}
	stream, err := web.NewStream(w, r, web.StillMay(auth.ExecutionRead, auth.LogRead))
	if err != nil {
		return err
	}
	q := r.URL.Query()
	first, _ := strconv.Atoi(q.Get("lines")) // 0 begins the numbers of lines again
	p := taskPush{h: h, x: x, stream: stream, sent: page.SentPieces{}, cursor: q.Get("after"), lines: first}
	h.Page.OnHints(r, stream, h.Page.Ticks(r.Context()), page.ListInterval, p.send)
	return nil
}

// taskPush sends the changes of the page of a task.
type taskPush struct {
	h      *Pages
	x      *taskView
	stream *web.Stream
	sent   page.SentPieces
	log    *datastore.Log
	cursor string // after the lines of the page
	lines  int
}

func (p *taskPush) send(ctx context.Context) error {
	if err := p.h.refreshTask(ctx, p.x); err != nil {
		return err
	}
	var u views.MetaflowTaskUpdate
	head := p.x.head()
	still := head
	still.Attempts = append([]views.MetaflowAttempt(nil), head.Attempts...)
	for i := range still.Attempts {
		if still.Attempts[i].Since != "" {
			still.Attempts[i].Took = ""
		}
	}
	if p.sent.Changed("head", still) {
		u.Head = &head
	}
	if err := p.files(ctx, &u); err != nil {
		return err
	}
	if u.Head != nil || u.Cards != nil || len(u.Lines) > 0 {
		if err := p.stream.SendComponent(ctx, "", "", views.MetaflowTaskUpdateBlock(u)); err != nil {
			return err
		}
	}
	if !p.x.ended() {
		return nil
	}
	if err := p.stream.Send("end", "", nil); err != nil {
		return err
	}
	return page.ErrStreamDone
}

// files adds the lines of the log after those of the page, and the cards if they have changed.
func (p *taskPush) files(ctx context.Context, u *views.MetaflowTaskUpdate) error {
	limited, cancel := p.x.limit(ctx)
	defer cancel()
	store, err := p.h.Datastores.Open(limited)
	if err = inTime(ctx, limited, err); apperr.Is(err, apperr.NotFound) || apperr.Is(err, apperr.Unavailable) {
		return nil // the page says so
	}
	if err != nil {
		return err
	}
	if p.log == nil {
		if p.log, err = datastore.NewLog(store, p.x.Task, p.x.attempt); err != nil {
			return err
		}
		p.log.Resume(p.cursor)
	}
	lines, err := p.log.Next(limited, p.x.attemptEnded())
	if err == nil {
		u.Lines = p.x.lines(lines, "", p.lines)
		if p.log.Cut() && len(u.Lines) > 0 {
			u.Lines[0].Cut = "Some lines were omitted here because too many arrived at the same time. Download the log for all lines."
		}
		p.lines += len(lines)
	}
	if _, refused := auth.Authorize(ctx, auth.ArtifactRead); refused != nil {
		return nil
	}
	cards, cardsErr := datastore.Cards(limited, store, p.x.carded)
	if cardsErr == nil {
		if shown := p.x.cards(cards); p.sent.Changed("cards", cards) {
			u.Cards = shown
		}
	}
	return nil
}
