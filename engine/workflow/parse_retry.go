package workflow

import (
	"slices"
	"strings"
	"time"

	"github.com/flowforge/flowforge/engine/expression"
	"github.com/flowforge/flowforge/engine/protect"
	"github.com/flowforge/flowforge/platform/units"
)

func (p *parser) retry(parent *object) Retry {
	r := defaultRetry()
	v, at, _ := parent.get("retry", "retry_policy", "retry_strategy")
	o := p.object(v, at)
	if o == nil {
		return r
	}
	defer o.finish()
	r.Limit = o.whole(r.Limit, 0, maxRetries, "limit", "max_retries")
	r.InitialDelay = o.duration(r.InitialDelay, "initial_delay")
	r.Factor = o.fraction(r.Factor, 1, 100, "factor")
	r.MaxDelay = o.duration(max(r.MaxDelay, r.InitialDelay), "max_delay")
	r.Jitter = o.fraction(r.Jitter, 0, 1, "jitter", "jitter_percent")
	r.FailFast = o.boolean(r.FailFast, "fail_fast")
	r.Policy = p.policy(o)
	r.Condition = p.retryCondition(o)
	r.Memory = p.memoryGrowth(o)
	if r.MaxDelay < r.InitialDelay {
		o.add(o.at("max_delay"), "The maximum delay is shorter than the first delay.")
	}
	return r
}

// defaultGrowth is the factor of the memory request when the definition sets only the
// limit.
const defaultGrowth = 2

func (p *parser) memoryGrowth(parent *object) MemoryGrowth {
	v, at, _ := parent.get("memory")
	o := p.object(v, at)
	if o == nil {
		return MemoryGrowth{}
	}
	defer o.finish()
	g := MemoryGrowth{Factor: o.fraction(defaultGrowth, 1, 100, "factor"), LimitMiB: o.size(0, "limit")}
	if g.LimitMiB == 0 {
		o.add(o.at("limit"), "Set the maximum memory, such as 64Gi.")
	}
	return g
}

// policy reads which failures are retried.
func (p *parser) policy(o *object) protect.Policy {
	v, path, _ := o.get("policy", "retry_policy")
	text := p.textValue(v, path, 100)
	if text == "" {
		return protect.Always
	}
	policy, ok := protect.ParsePolicy(text)
	if !ok {
		names := make([]string, 0, len(protect.Policies()))
		for _, known := range protect.Policies() {
			names = append(names, string(known))
		}
		p.add(path, "Unknown retry policy %q; the policies are %s.", shorten(text, 60), strings.Join(names, ", "))
		return protect.Always
	}
	return policy
}

// The names that the expression of a retry policy reads. The first is as in Argo, whose
// values are texts.
const (
	RetryLast     = "lastRetry" // exitCode, status, duration, message
	RetryCount    = "retries"
	RetryAttempt  = "attempt"
	RetryClass    = "class"
	RetryExitCode = "exit_code"
	RetryMessage  = "message"
)

// retryNames returns all of them.
func retryNames() []string {
	return []string{RetryLast, RetryCount, RetryAttempt, RetryClass, RetryExitCode, RetryMessage}
}

// retryCondition reads the expression that must be true for a retry.
func (p *parser) retryCondition(o *object) *expression.Expression {
	v, path, _ := o.get("expression")
	text := strings.TrimSpace(p.textValue(v, path, maxExpression))
	if text == "" {
		return nil
	}
	parsed, err := expression.Parse(text)
	if err != nil {
		p.add(path, "%s", sentence(err.Error()))
		return nil
	}
	for _, r := range parsed.References() {
		if !slices.Contains(retryNames(), r.Path[0]) {
			p.add(path, "%q is not available here; this expression can read %s.", shorten(r.String(), 60), strings.Join(retryNames(), ", "))
		} else if r.Path[0] == RetryLast && len(r.Path) > 1 && !slices.Contains([]string{"exitCode", "status", "duration", "message"}, r.Path[1]) {
			p.add(path, "This expression can read exitCode, status, duration and message of %s, not %q.", RetryLast, shorten(r.Path[1], 60))
		}
	}
	return parsed
}

// defaultBreaker provides the defaults of a breaker section.
func defaultBreaker() protect.BreakerRule {
	return protect.BreakerRule{Failures: 5, Window: 10 * time.Minute, OpenFor: 5 * time.Minute}
}

const (
	maxBreakerFailures = 100
	leastBreak         = time.Second
)

// breaker reads the circuit breaker of an operator: a mapping, or true for the default.
func (p *parser) breaker(parent *object) protect.BreakerRule {
	v, at, _ := parent.get("breaker")
	rule := defaultBreaker()
	switch v := v.(type) {
	case nil:
		return protect.BreakerRule{}
	case bool:
		if v {
			return rule
		}
		return protect.BreakerRule{}
	}
	o := p.object(v, at)
	if o == nil {
		return protect.BreakerRule{}
	}
	defer o.finish()
	rule.Failures = o.whole(rule.Failures, 1, maxBreakerFailures, "failures")
	rule.Window = p.leastSpan(o, rule.Window, "window")
	rule.OpenFor = p.leastSpan(o, rule.OpenFor, "open_for")
	return rule
}

// leastSpan reads a time span of at least a second.
func (p *parser) leastSpan(o *object, fallback time.Duration, name string) time.Duration {
	d := o.duration(fallback, name)
	if d < leastBreak {
		o.add(o.at(name), "This must be %s or longer.", units.Compact(leastBreak))
		return fallback
	}
	return d
}

// retryBudget reads the retry budget of a workflow.
func (p *parser) retryBudget(parent *object) protect.WindowRule {
	v, at, _ := parent.get("retry_budget")
	o := p.object(v, at)
	if o == nil {
		return protect.WindowRule{}
	}
	defer o.finish()
	rule := protect.WindowRule{
		Retries: o.whole(0, 1, protect.MaxWindowRetries, "retries"),
		Window:  p.leastSpan(o, time.Hour, "window"),
	}
	if _, _, given := o.get("retries"); !given {
		o.add(o.at("retries"), "Set the number of retries of all executions of this workflow in the window.")
	}
	return rule
}
