package backfill

import "context"

// Look launches what there is room for, once.
func (s *Service) Look(ctx context.Context) error {
	_, err := s.look(ctx)
	return err
}
