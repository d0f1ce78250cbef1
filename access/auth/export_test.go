package auth

import "time"

// LimitLoads sets the limit of one load.
func (p *Policies) LimitLoads(limit time.Duration) { p.limit = limit }
