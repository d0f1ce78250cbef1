package argo

import (
	"math"
	"strconv"
	"time"

	"github.com/flowforge/flowforge/expression"
	"github.com/flowforge/flowforge/protect"
	"github.com/flowforge/flowforge/workflow"
)

// retry makes the retry strategy of a template, or that of the workflow, which holds
// for templates that run something themselves.
func (t *translator) retry(s *source) workflow.Retry {
	r, path := s.RetryStrategy, s.path+".retryStrategy"
	if r == nil && !s.isGraph() && s.library == "" {
		r, path = t.spec.RetryStrategy, "spec.retryStrategy"
	}
	var out workflow.Retry
	if r == nil {
		return out
	}
	out.Limit, out.Factor = math.MaxInt32, 1
	if r.Limit != nil {
		n, err := strconv.ParseUint(string(*r.Limit), 10, 31)
		t.refuse(err != nil, path+".limit", "This has to be a whole number, without tags.")
		out.Limit = int(n)
	}
	t.policy(&out, r, path)
	condition := r.Expression
	if r.RetryPolicy == "OnError" {
		condition = "lastRetry.status == \"Error\""
		if r.Expression != "" {
			condition = "(" + r.Expression + ") && " + condition
		}
	}
	if condition != "" {
		e, err := expression.ParseArgo(condition)
		if err != nil {
			t.add(path+".expression", "%s", err)
		}
		out.Condition = e
	}
	if r.Backoff == nil {
		return out
	}
	b, path := r.Backoff, path+".backoff"
	out.InitialDelay = t.pause(b.Duration, path+".duration")
	out.MaxDelay = t.pause(b.Cap, path+".cap")
	if out.MaxDuration = t.pause(b.MaxDuration, path+".maxDuration"); b.Factor != nil {
		n, err := strconv.ParseFloat(string(*b.Factor), 64)
		t.refuse(err != nil || n < 0 || n > 1000, path+".factor", "This has to be a number, without tags.")
		out.Factor = max(n, 1)
	}
	return out
}

// policy reads which failures are tried again.
func (t *translator) policy(out *workflow.Retry, r *retryStrategy, path string) {
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
		out.Policy = protect.Always // that it was no failure of the task itself is part of the condition
	default:
		t.add(path+".retryPolicy", "There is no policy %q; the policies are Always, OnFailure, OnError and OnTransientError.", r.RetryPolicy)
	}
}

func (t *translator) pause(text Text, path string) time.Duration {
	if text == "" {
		return 0
	}
	d, ok := duration(string(text))
	t.refuse(!ok, path, "A duration is a number of seconds, or such as 2h or 30m, without tags.")
	return d
}
