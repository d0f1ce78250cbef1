package image

import (
	"container/list"
	"time"
)

// answer is a cached result for an image.
type answer struct {
	command Command
	failed  *Error    // nil: command is known
	at      time.Time // when it was looked up
	until   time.Time // zero: permanently
}

func (a answer) error() error {
	if a.failed == nil {
		return nil
	}
	return a.failed
}

// cache keeps the most recently used answers.
type cache struct {
	most  int
	order *list.List // of *entry, newest first
	byKey map[string]*list.Element
}

type entry struct {
	key string
	answer
}

func newCache(most int) *cache {
	return &cache{most: most, order: list.New(), byKey: map[string]*list.Element{}}
}

// get returns a valid answer.
func (c *cache) get(key string, now time.Time) (answer, bool) {
	e, ok := c.peek(key)
	if !ok || !e.until.IsZero() && !now.Before(e.until) {
		return answer{}, false
	}
	c.order.MoveToFront(c.byKey[key])
	return e.answer, true
}

// peek returns an answer even if it has expired.
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

// failingSince returns when the current series of failures began.
func (c *cache) failingSince(key string, now time.Time) time.Time {
	if e, ok := c.peek(key); ok && e.failed != nil && e.failed.Passing && now.Sub(e.at) < failureSeriesGap {
		return e.failed.Since
	}
	return now
}
