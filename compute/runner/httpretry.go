package runner

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// firstPause is the pause before a request is sent again for the first time, unless the server names
// one. Each further pause is twice as long.
const firstPause = time.Second

// maxDrained is how much of an answer is read so that its connection can be used again.
const maxDrained = 64 << 10

// send signs and sends the request, again while the server answers with one of the retry codes.
func (c *call) send(req *http.Request) (*http.Response, error) {
	at, work := nameOf(req), c.work
	for sent := 1; ; sent++ {
		if err := c.sign(req); err != nil {
			return nil, err
		}
		var err error
		if req.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
		resp, err := c.client.Do(req)
		if err != nil {
			return nil, notYetf("%s failed: %w", at, unwrapURL(err))
		}
		again := slices.Contains(work.RetryCodes, int32(resp.StatusCode)) //nolint:gosec // three digits
		if !again || sent > int(work.RetryLimit) {
			return resp, nil
		}
		pause, err := pauseAfter(resp.Header, sent, time.Duration(work.RetryMaxDelayMs)*time.Millisecond, time.Now())
		_, _ = io.CopyN(io.Discard, resp.Body, maxDrained)
		_ = resp.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("%s responded with %s and %w", at, resp.Status, err)
		}
		c.note(levelWarn, fmt.Sprintf("%s: %s. The request is sent again in %s (retry %d of %d).", at, resp.Status, pause.Round(time.Millisecond), sent, work.RetryLimit))
		if !sleepContext(req.Context(), pause) {
			return nil, context.Cause(req.Context())
		}
	}
}

// pauseAfter is the pause before the request is sent again. The header Retry-After has seconds or a
// date; the request is not sent earlier.
func pauseAfter(header http.Header, sent int, limit time.Duration, now time.Time) (time.Duration, error) {
	value := strings.TrimSpace(header.Get("Retry-After"))
	requested := time.Duration(-1)
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil && seconds >= 0 {
		requested = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		requested = max(at.Sub(now), 0)
	}
	switch {
	case requested > limit:
		return 0, fmt.Errorf("requests a wait of %s, which is longer than max_delay (%s)", requested.Round(time.Second), limit)
	case requested >= 0:
		return requested, nil
	}
	return min(firstPause<<min(sent-1, 20), limit), nil
}
