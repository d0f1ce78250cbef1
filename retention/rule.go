package retention

import (
	"fmt"
	"strconv"
	"time"
)

// RuleText says in a sentence how long executions are kept of which no definition says it.
func (s *Service) RuleText() string {
	success, kept := s.config.Rule.After(true)
	failure, failureKept := s.config.Rule.After(false)
	const others = "Ended executions are kept as long as their definition says"
	switch {
	case !kept && !failureKept:
		return others + ", and without a word for ever."
	case kept && failureKept && success == failure:
		return fmt.Sprintf("%s, and without a word for %s.", others, span(success))
	}
	text := func(d time.Duration, ends bool) string {
		if !ends {
			return "for ever"
		}
		return "for " + span(d)
	}
	return fmt.Sprintf("%s; without a word those that succeeded %s, others %s.", others, text(success, kept), text(failure, failureKept))
}

// span writes whole days as days.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d == day:
		return "1 day"
	case d > 0 && d%day == 0:
		return strconv.Itoa(int(d/day)) + " days"
	}
	return d.String()
}
