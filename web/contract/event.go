package contract

import (
	"github.com/flowforge/flowforge/engine/feed"
)

// CloudEvent is an event of the feed in the JSON format of CloudEvents 1.0.
type CloudEvent = feed.CloudEvent

// CloudEventList is a page of the feed, oldest first.
type CloudEventList struct {
	Events []CloudEvent `json:"events"`
	Next   string       `json:"next" doc:"Cursor for the next request, even after an empty page; pass it as after"`
	More   bool         `json:"more" doc:"True if the next page is available immediately"`
}
