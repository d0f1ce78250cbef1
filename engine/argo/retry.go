package argo

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/engine/expression"
	"github.com/flowforge/flowforge/engine/protect"
	"github.com/flowforge/flowforge/engine/workflow"
)

// retryStrategy returns the strategy of a template, or else that of the workflow, which applies to
// templates that run something themselves.
func (p *policies) retryStrategy(s *source) *retryStrategy {
	if s.RetryStrategy == nil && !s.isGraph() && s.library == "" {
		return p.spec.RetryStrategy
	}
	return s.RetryStrategy
}

// retry returns the retry policy of a template.
func (p *policies) retry(s *source) workflow.Retry {
	r, path := p.retryStrategy(s), s.path+".retryStrategy"
	if r != nil && s.RetryStrategy == nil {
		path = "spec.retryStrategy"
	}
	var out workflow.Retry
	if r == nil {
		return out
	}
	out.Limit, out.Factor = math.MaxInt32, 1
	if r.Limit != nil && !p.hasTags(string(*r.Limit)) {
		n, err := strconv.ParseUint(string(*r.Limit), 10, 31)
		p.refuse(err != nil, path+".limit", "This must be a whole number, not %q.", shorten(string(*r.Limit)))
		out.Limit = int(n)
	}
	p.policy(&out, r, path)
	condition := r.Expression
	if r.RetryPolicy == "OnError" && !p.dagSpec {
		condition = "lastRetry.status == \"Error\""
		out.Declines = "Its retry policy OnError retries errors around the command, not failures of the command itself."
		if r.Expression != "" {
			out.Declines = "Its retry policy OnError or its retry expression prevents retries."
			condition = "(" + r.Expression + ") && " + condition
		}
	}
	if condition != "" && !p.hasTags(condition) {
		e, err := expression.ParseArgo(condition)
		if err != nil {
			p.add(path+".expression", "%s", err)
		}
		out.Condition = e
	}
	if r.Backoff == nil {
		return out
	}
	b, path := r.Backoff, path+".backoff"
	out.InitialDelay = p.pause(b.Duration, path+".duration")
	out.MaxDelay = p.pause(b.Cap, path+".cap")
	if out.MaxDuration = p.pause(b.MaxDuration, path+".maxDuration"); b.Factor != nil && !p.hasTags(string(*b.Factor)) {
		n, err := strconv.ParseFloat(string(*b.Factor), 64)
		p.refuse(err != nil || n < 0 || n > 1000, path+".factor", "This must be a number, not %q.", shorten(string(*b.Factor)))
		out.Factor = max(n, 1)
	}
	return out
}

// policy reads which failures are retried.
func (p *policies) policy(out *workflow.Retry, r *retryStrategy, path string) {
	if p.dagSpec && p.dagSpecPolicy(out, r.RetryPolicy) {
		return
	}
	switch r.RetryPolicy {
	case "":
		if out.Policy = protect.OnError; r.Expression != "" {
			out.Policy = protect.Always
		}
	case "OnFailure":
		out.Policy = protect.OnError
	case "Always":
		out.Policy = protect.Always
	case "OnTransientError":
		out.Policy = protect.OnTransient
	case "OnError":
		out.Policy = protect.Always // the condition excludes failures of the task itself
	default:
		names := []string{"Always", "OnFailure", "OnError", "OnTransientError"}
		if p.dagSpec {
			names = []string{"Always", "OnError", "OnTransient", "Never"}
		}
		p.add(path+".retryPolicy", "Unknown policy %q; the policies are %s.%s", r.RetryPolicy, strings.Join(names, ", "), suggestion(r.RetryPolicy, names))
	}
}

func (p *policies) pause(text Text, path string) time.Duration {
	if text == "" || p.hasTags(string(text)) {
		return 0
	}
	d, ok := duration(string(text))
	p.refuse(!ok, path, "A duration is a number of seconds, or a value such as 2h or 30m, not %q.", shorten(string(text)))
	return d
}
