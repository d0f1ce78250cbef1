package datastore

import (
	"context"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/flowforge/flowforge/apperr"
)

// Card is a card of a task: an HTML page that its code has made.
type Card struct {
	File     string // such as default-report-1a2b3.html
	Type     string // such as default
	ID       string // given by the author, or ""
	Size     int64
	Modified time.Time
}

// cardPattern are the names of cards: type-hash.html or type-id-hash.html.
var cardPattern = regexp.MustCompile(`^([A-Za-z0-9_]{1,100})-(?:([A-Za-z0-9_]{1,100})-)?[A-Za-z0-9]{1,100}\.html$`)

// cards are the folders of the cards of a task. The client uses the second one for local datastores.
func (t Task) cards() ([]string, error) {
	if _, err := t.folder(); err != nil {
		return nil, err
	}
	folder := path.Join(t.Flow, "runs", t.Run, "steps", t.Step, "tasks", t.ID, "cards")
	return []string{path.Join(cardFolder, folder), folder}, nil
}

// Cards returns the cards of all attempts of a task, newest first.
func Cards(ctx context.Context, store Store, t Task) ([]Card, error) {
	folders, err := t.cards()
	if err != nil {
		return nil, err
	}
	var cards []Card
	for _, folder := range folders {
		entries, err := store.List(ctx, folder, maxFiles)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			known := slices.ContainsFunc(cards, func(c Card) bool { return c.File == e.Name }) // one folder can be a link to the other
			if found := cardPattern.FindStringSubmatch(e.Name); found != nil && !e.Folder && !known {
				cards = append(cards, Card{File: e.Name, Type: found[1], ID: found[2], Size: e.Size, Modified: e.Modified})
			}
		}
	}
	slices.SortStableFunc(cards, func(a, b Card) int {
		if n := b.Modified.Compare(a.Modified); n != 0 {
			return n
		}
		return strings.Compare(a.File, b.File)
	})
	return cards, nil
}

// OpenCard returns the HTML of a card.
func OpenCard(ctx context.Context, store Store, t Task, file string) (io.ReadCloser, int64, error) {
	folders, err := t.cards()
	if err != nil {
		return nil, 0, err
	}
	if !cardPattern.MatchString(file) {
		return nil, 0, absent(file)
	}
	for _, folder := range folders {
		card, size, err := store.Open(ctx, path.Join(folder, file))
		if !apperr.Is(err, apperr.NotFound) {
			return card, size, err
		}
	}
	return nil, 0, absent(file)
}
