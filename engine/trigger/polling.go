package trigger

import (
	"net/url"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/flowforge/flowforge/platform/units"
)

// When defines when a trigger of OnHTTP launches.
type When string

// The values of When.
const (
	Changes When = "changes" // the response differs from the last one
	Appears When = "appears" // the address exists, after it did not
)

// HTTPPoll is the address that a trigger of OnHTTP polls: URL, or a path below a connection.
type HTTPPoll struct {
	URL        string `json:"url,omitempty"`
	Connection string `json:"connection,omitempty"`
	Path       string `json:"path,omitempty"`
	When       When   `json:"when"`
	Every      string `json:"every"`              // a duration, such as 5m
	Existing   bool   `json:"existing,omitempty"` // the first response counts as an event
}

// S3Poll are the objects that a trigger of OnS3 waits for.
type S3Poll struct {
	Connection string `json:"connection"`
	Bucket     string `json:"bucket,omitempty"`  // "": that of the connection
	Prefix     string `json:"prefix,omitempty"`  // of the keys; "": that of the connection
	Pattern    string `json:"pattern,omitempty"` // of the name after the last slash, or of the key if it has a slash
	Every      string `json:"every"`
	Existing   bool   `json:"existing,omitempty"` // objects that exist already count as events
}

// Limits of polls.
const (
	DefaultEvery = "5 min"
	MinEvery     = 10 * time.Second
	MaxEvery     = 31 * 24 * time.Hour
	MaxObjects   = 100_000 // that a trigger remembers
	PauseAfter   = 12      // failed polls in a row, after which the trigger is turned off

	maxAddress = 2000
	maxBackoff = time.Hour // between failed polls, unless the trigger polls less often
)

func (h *HTTPPoll) filled() *HTTPPoll {
	if h == nil {
		h = &HTTPPoll{}
	}
	out := *h
	out.URL, out.Path, out.Every = strings.TrimSpace(h.URL), strings.TrimSpace(h.Path), filledEvery(h.Every)
	if out.When == "" {
		out.When = Changes
	}
	return &out
}

func (b *S3Poll) filled() *S3Poll {
	if b == nil {
		b = &S3Poll{}
	}
	out := *b
	out.Bucket, out.Prefix, out.Pattern, out.Every = strings.TrimSpace(b.Bucket), strings.TrimPrefix(strings.TrimSpace(b.Prefix), "/"), strings.TrimSpace(b.Pattern), filledEvery(b.Every)
	return &out
}

func filledEvery(text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return DefaultEvery
	}
	return text
}

// problems returns the invalid fields of an address.
func (h *HTTPPoll) problems(refuse refuser) {
	refuse = refuse.at("http")
	switch {
	case h.Connection == "" && h.URL == "":
		refuse(true, "url", "Enter a URL, or choose a connection.")
	case h.Connection != "" && h.URL != "":
		refuse(true, "url", "Enter a URL or a connection with a path, not both.")
	case h.Connection == "":
		u, err := url.Parse(h.URL)
		refuse(err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https", "url", "Enter a URL that begins with https:// or http://.")
		refuse(err == nil && u.User != nil, "url", "The URL has a user name or a password. Use a connection of the kind http instead.")
		refuse(h.Path != "", "path", "A path needs a connection.")
	}
	_, err := url.Parse("/" + strings.TrimPrefix(h.Path, "/"))
	refuse(err != nil || strings.Contains("/"+h.Path+"/", "/../"), "path", "Enter a path below the base URL of the connection, such as reports/latest.json.")
	refuse(utf8.RuneCountInString(h.URL) > maxAddress || unprintable(h.URL), "url", "Enter at most %d characters without control characters.", maxAddress)
	refuse(utf8.RuneCountInString(h.Path) > maxAddress || unprintable(h.Path), "path", "Enter at most %d characters without control characters.", maxAddress)
	refuse(h.When != Changes && h.When != Appears, "when", "Choose changes or appears.")
	everyProblems(h.Every, refuse)
}

// problems returns the invalid fields of a bucket.
func (b *S3Poll) problems(refuse refuser) {
	refuse = refuse.at("s3")
	refuse(b.Connection == "", "connection", "Choose a connection of the kind s3.")
	refuse(len(b.Bucket) > 200 || strings.Contains(b.Bucket, "/") || unprintable(b.Bucket), "bucket", "Enter the name of a bucket, or leave the field empty to use the connection's bucket.")
	refuse(len(b.Prefix) > 1000 || unprintable(b.Prefix), "prefix", "Enter at most 1000 bytes, without control characters.")
	_, err := path.Match(b.Pattern, "")
	refuse(err != nil || len(b.Pattern) > 200 || unprintable(b.Pattern), "pattern", "%q is not a pattern such as *.parquet", b.Pattern)
	everyProblems(b.Every, refuse)
}

func everyProblems(text string, refuse refuser) {
	every, err := units.ParseDuration(text)
	if err != nil {
		refuse(true, "every", "%s", err)
		return
	}
	refuse(every < MinEvery || every > MaxEvery, "every", "Enter %s to %s.", units.Exact(MinEvery), units.Period(MaxEvery))
}

func unprintable(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar })
}
