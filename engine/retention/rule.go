package retention

import (
	"fmt"
	"time"

	"github.com/flowforge/flowforge/platform/units"
)

// RuleText describes the retention of executions whose definition sets none.
func (s *Service) RuleText() string {
	success, kept := s.config.Rule.After(true)
	failure, failureKept := s.config.Rule.After(false)
	const others = "A workflow can set how long its ended executions are kept"
	switch {
	case !kept && !failureKept:
		return others + "; without a setting, they are kept forever."
	case kept && failureKept && success == failure:
		return fmt.Sprintf("%s; without a setting, they are kept for %s.", others, units.Period(success))
	}
	text := func(d time.Duration, ends bool) string {
		if !ends {
			return "forever"
		}
		return "for " + units.Period(d)
	}
	return fmt.Sprintf("%s; without a setting, those that succeeded are kept %s, the others %s.", others, text(success, kept), text(failure, failureKept))
}
