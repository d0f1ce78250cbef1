package metaflow

import (
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/db"
)

// report is what facts say about the state of a task.
type report struct {
	attempt        int64 // -1: nothing about an attempt
	started, ended bool
	ok             string // of an attempt that has ended
	origin         string
}

func (r report) empty() bool { return !r.started && !r.ended && r.origin == "" }

// attemptPrefix begins the tag of metadata with the number of its attempt.
const attemptPrefix = "attempt_id:"

// reportOf reads the facts of the latest attempt among them.
func reportOf(facts []NewMetadata) report {
	r := report{attempt: -1}
	for _, f := range facts {
		number := attemptOf(f.Tags)
		if f.FieldName == "origin-run-id" && f.Value != "None" && f.Value != "" && number >= 0 {
			r.origin = string(f.Value)
		}
		begins, ends := f.FieldName == "attempt", f.FieldName == attemptOK
		if !begins && !ends || number < r.attempt {
			continue
		}
		if number > r.attempt {
			r.attempt, r.started, r.ended, r.ok = number, false, false, ""
		}
		r.started, r.ended = r.started || begins, r.ended || ends
		if ends {
			r.ok = string(f.Value)
		}
	}
	return r
}

// attemptOf is the number of the attempt in tags; -1 without one.
func attemptOf(tags []string) int64 {
	for _, tag := range tags {
		if text, ok := strings.CutPrefix(tag, attemptPrefix); ok && isNumber(text) && len(text) < 10 {
			n, _ := strconv.ParseInt(text, 10, 64) // fewer than ten digits
			return n
		}
	}
	return -1
}

func (r report) params(task, now int64) db.ReportMetaflowAttemptParams {
	p := db.ReportMetaflowAttemptParams{TaskNumber: task, Attempt: r.attempt, Ok: r.ok, Origin: r.origin}
	if r.started || r.ended {
		p.Started = now
	}
	if r.ended {
		p.Ended = now
	}
	return p
}
