package app

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/handlers"
)

// Artifacts configures where artifacts are stored.
type Artifacts struct {
	// Location is "s3://bucket/prefix" or a folder, which servers may share; "": a folder
	// in the data directory.
	Location       string
	Endpoint       string // of a store that is not AWS, such as https://minio.example.com
	PublicEndpoint string // address of the store for browsers; "": Endpoint
	PathStyle      bool   // the bucket is in the path, not in the host name
	Direct         string // DirectTasks, DirectAll or DirectOff; "": DirectTasks
}

// Clients that access the object store directly.
const (
	DirectTasks = "tasks"
	DirectAll   = "all" // browsers too
	DirectOff   = "off"
)

// s3 returns the bucket and the prefix of an object store; false for a folder.
func (c Artifacts) s3() (bucket, prefix string, ok bool) {
	rest, ok := strings.CutPrefix(c.Location, "s3://")
	bucket, prefix, _ = strings.Cut(rest, "/")
	return bucket, strings.Trim(prefix, "/"), ok
}

// check reports the first invalid setting.
func (c Artifacts) check() error {
	bucket, _, isS3 := c.s3()
	switch {
	case isS3 && (bucket == "" || strings.ContainsAny(bucket, "?#@: ")):
		return fmt.Errorf("FLOWFORGE_ARTIFACTS %q is not s3://bucket/prefix", c.Location)
	case !isS3 && strings.Contains(c.Location, "://"):
		return fmt.Errorf("FLOWFORGE_ARTIFACTS %q is neither s3://bucket/prefix nor a folder", c.Location)
	case !isS3 && (c.Endpoint != "" || c.PublicEndpoint != ""):
		return fmt.Errorf("FLOWFORGE_S3_ENDPOINT is set, and FLOWFORGE_ARTIFACTS is not s3://bucket/prefix")
	}
	for name, endpoint := range map[string]string{"FLOWFORGE_S3_ENDPOINT": c.Endpoint, "FLOWFORGE_S3_PUBLIC_ENDPOINT": c.PublicEndpoint} {
		u, err := url.Parse(endpoint)
		if endpoint != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
			return fmt.Errorf("%s %q is not an address such as https://minio.example.com", name, endpoint)
		}
	}
	switch c.Direct {
	case "", DirectTasks, DirectAll, DirectOff:
		return nil
	}
	return fmt.Errorf("FLOWFORGE_S3_DIRECT is %q; set it to tasks, all or off", c.Direct)
}

// openArtifacts opens the store, which must answer, and the service that uses it.
func (a *App) openArtifacts(ctx context.Context, p *parts) error {
	c := a.cfg.Artifacts
	bucket, prefix, isS3 := c.s3()
	if !isS3 {
		dir := a.paths.artifacts()
		if c.Location != "" {
			var err error
			if dir, err = filepath.Abs(c.Location); err != nil {
				return fmt.Errorf("FLOWFORGE_ARTIFACTS: %w", err)
			}
		}
		store, err := artifact.OpenStore(dir)
		if err != nil {
			return err
		}
		p.store, p.artifacts = store, artifact.NewService(p.pool, store, time.Now)
		if a.cfg.Kube == nil && a.cfg.Attempts == nil {
			p.storeDir = dir // the runner of this machine also uses it
		}
		return nil
	}
	store, err := artifact.OpenS3(ctx, artifact.S3Config{
		Bucket: bucket, Prefix: prefix, Endpoint: c.Endpoint, PublicEndpoint: c.PublicEndpoint, PathStyle: c.PathStyle, Now: time.Now,
	})
	if err != nil {
		return err
	}
	p.store, p.artifacts = store, artifact.NewService(p.pool, store, time.Now)
	if c.Direct != DirectOff {
		p.artifacts.SendDirect(store, c.Direct == DirectAll)
		p.directStore = true
	}
	p.storeReady = store.Ready
	a.life.background("the sweep of the artifact store", func(ctx context.Context) error {
		return store.SweepForever(ctx, func(err error) { a.life.logError("the artifact store cannot be swept", err) })
	})
	return nil
}

// storeChecks returns the checks of the artifact store for /readyz.
func storeChecks(p *parts) []handlers.Check {
	if p.storeReady == nil {
		return nil
	}
	return []handlers.Check{{Name: "artifacts", Ready: p.storeReady}}
}
