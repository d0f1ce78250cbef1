package notify

import "context"

// Watch looks once for what waits.
func (s *Service) Watch(ctx context.Context) error { return s.watch(ctx) }

// SendDue makes one attempt for each due message.
func (s *Service) SendDue(ctx context.Context) error { return s.sendDue(ctx) }
