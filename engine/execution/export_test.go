package execution

import "context"

// RenewLeases renews the leases of the loops of this process now.
func (s *Service) RenewLeases(ctx context.Context) error { return s.Driver.renewOnce(ctx) }
