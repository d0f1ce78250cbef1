package notify

import "context"

// Watch looks once for what waits.
func (s *Service) Watch(ctx context.Context) error {
	_, err := s.watch(ctx)
	return err
}

// SendDue makes one attempt for each due message.
func (s *Service) SendDue(ctx context.Context) error {
	var sends sending
	defer sends.all.Wait()
	return s.sendDue(ctx, &sends)
}
