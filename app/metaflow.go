package app

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"github.com/flowforge/flowforge/data/metaflow/datastore"
)

// Metaflow configures which datastores of Metaflow the server reads.
type Metaflow struct {
	Roots     []string // folders in which administrators may choose datastores
	Endpoints []string // object stores on this machine or with credentials
	Proxy     func(*http.Request) (*url.URL, error)
}

// check reports the first invalid setting.
func (c Metaflow) check() error {
	for _, root := range c.Roots {
		if !filepath.IsAbs(root) {
			return fmt.Errorf("FLOWFORGE_METAFLOW_ROOTS: %q is not an absolute path", root)
		}
	}
	return nil
}

// datastores returns the service that reads datastores of Metaflow. Without sign-in providers,
// everyone who signs in owns this machine.
func (a *App) datastores(p *parts) *datastore.Service {
	roots := make([]string, 0, len(a.cfg.Metaflow.Roots))
	for _, root := range a.cfg.Metaflow.Roots {
		roots = append(roots, filepath.Clean(root))
	}
	return datastore.NewService(datastore.Config{
		Pool: p.pool, Secrets: p.secrets, Now: time.Now, Dir: a.paths.join("metaflow"), Roots: roots,
		Endpoints: a.cfg.Metaflow.Endpoints, OwnHosts: len(a.cfg.Providers) == 0, Proxy: a.cfg.Metaflow.Proxy,
	})
}
