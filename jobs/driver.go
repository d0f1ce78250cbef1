package jobs

import (
	"cmp"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// driver is River's driver, which receives notifications in sessions of their own: the connections of
// a pool may be those of a connection pooler, which keeps no session for them.
type driver struct {
	*riverpgxv5.Driver

	sessions *riverpgxv5.Driver
}

func driverOf(c Config) driver {
	return driver{riverpgxv5.New(c.Pool), riverpgxv5.New(cmp.Or(c.Sessions, c.Pool))}
}

// GetListener implements riverdriver.Driver.
func (d driver) GetListener(params *riverdriver.GetListenenerParams) riverdriver.Listener {
	return d.sessions.GetListener(params)
}
