package inbox

import "context"

// SendDue makes one attempt for each person with due e-mails.
func (s *Service) SendDue(ctx context.Context) error { return s.sendDue(ctx) }

// Clean removes old items.
func (s *Service) Clean(ctx context.Context) error { return s.clean(ctx) }
