package workflow

func (p *parser) retry(parent *object) Retry {
	r := defaultRetry()
	v, at, _ := parent.get("retry", "retry_policy")
	o := p.object(v, at)
	if o == nil {
		return r
	}
	defer o.finish()
	r.Limit = o.whole(r.Limit, 0, maxRetries, "limit", "max_retries")
	r.InitialDelay = o.duration(r.InitialDelay, "initial_delay")
	r.Factor = o.fraction(r.Factor, 1, 100, "factor")
	r.MaxDelay = o.duration(max(r.MaxDelay, r.InitialDelay), "max_delay")
	r.Jitter = o.fraction(r.Jitter, 0, 1, "jitter")
	r.FailFast = o.boolean(r.FailFast, "fail_fast")
	r.Memory = p.memoryGrowth(o)
	if r.MaxDelay < r.InitialDelay {
		o.add(o.at("max_delay"), "The longest delay is shorter than the first.")
	}
	return r
}

// defaultGrowth is how much more memory an attempt asks for when the definition
// says the limit alone.
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
		o.add(o.at("limit"), "Say how much memory it may come to at most, such as 64Gi.")
	}
	return g
}
