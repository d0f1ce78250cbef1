package pool

import "context"

// ReportShortages is what the loop does from time to time.
func (s *Service) ReportShortages(ctx context.Context) error { return s.reportShortages(ctx) }
