package image

import (
	"container/list"
	"time"
)

// answer is what is remembered of an image.
type answer struct {
	command Command
	failed  *Error    // nil: command is known
	at      time.Time // when it was found
	until   time.Time // zero: for good
}

func (a answer) error() error {
	if a.failed == nil {
		return nil
	}
	return a.failed
}

// cache keeps the answers that were asked for last.
type cache struct {
	most  int
	order *list.List // of *entry, the latest first
	byKey map[string]*list.Element
}

type entry struct {
	key string
	answer
}

func newCache(most int) *cache {
	return &cache{most: most, order: list.New(), byKey: map[string]*list.Element{}}
}

// get returns an answer that holds.
func (c *cache) get(key string, now time.Time) (answer, bool) {
	e, ok := c.peek(key)
	if !ok || !e.until.IsZero() && !now.Before(e.until) {
		return answer{}, false
	}
	c.order.MoveToFront(c.byKey[key])
	return e.answer, true
}

// peek returns an answer even when it does not hold any more.
func (c *cache) peek(key string) (*entry, bool) {
	element, ok := c.byKey[key]
	if !ok {
		return nil, false
	}
	e, ok := element.Value.(*entry)
	return e, ok
}

func (c *cache) put(key string, a answer) {
	if old, ok := c.byKey[key]; ok {
		c.order.Remove(old)
	}
	c.byKey[key] = c.order.PushFront(&entry{key: key, answer: a})
	for len(c.byKey) > c.most {
		last := c.order.Back()
		if e, ok := c.order.Remove(last).(*entry); ok {
			delete(c.byKey, e.key)
		}
	}
}

// failingSince is when the failures began of which one more has come.
func (c *cache) failingSince(key string, now time.Time) time.Time {
	if e, ok := c.peek(key); ok && e.failed != nil && e.failed.Passing && now.Sub(e.at) < patience {
		return e.failed.Since
	}
	return now
}
