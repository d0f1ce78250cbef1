package app

import (
	"context"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/access/secretstore"
	"github.com/flowforge/flowforge/data/outgoing"
)

// secretStoreKey is the file below secrets/ with the key that encrypts the secrets of
// projects. To rotate it, rename it to secret-store.<anything>: the old key still
// decrypts, and the next start creates a new key and encrypts all secrets again.
const secretStoreKey = "secret-store"

// openSecrets returns the secrets of projects: the store, the files of secrets.d, and
// FLOWFORGE_SECRET_* of the environment.
func (a *App) openSecrets(ctx context.Context, p *parts) (*secret.Service, error) {
	keys, err := a.keys.keyring()
	if err != nil {
		return nil, err
	}
	if p.secretStores, err = a.openSecretStores(ctx, p, keys); err != nil {
		return nil, err
	}
	service := secret.NewService(p.pool, keys, time.Now,
		secret.NewFiles(a.paths.join("secrets.d")), secret.NewEnvironment(a.cfg.Environ)).WithStores(p.secretStores)
	n, err := service.Reseal(auth.AsSystem(ctx))
	if err != nil {
		return nil, err
	}
	if n > 0 {
		a.cfg.Log.Info("Secrets are encrypted with the new key; you can delete the older key files.", "secrets", n)
	}
	return service, nil
}

// renewEvery is how often the server checks for tokens of secret stores that must be renewed.
const renewEvery = time.Minute

// openSecretStores returns the registered secret stores, whose credentials are encrypted with the
// same keys.
func (a *App) openSecretStores(ctx context.Context, p *parts, keys secret.Keyring) (*secretstore.Service, error) {
	stores := secretstore.New(secretstore.Config{
		Pool: p.pool, Keys: keys, Now: time.Now, Dialer: a.cfg.dialer(), Environ: a.cfg.Environ, Private: []string{a.paths.root, a.paths.secrets},
	})
	if _, err := stores.Reseal(auth.AsSystem(ctx)); err != nil {
		return nil, err
	}
	a.life.background("the renewal of tokens of secret stores", func(ctx context.Context) error {
		ticker := time.NewTicker(renewEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-ticker.C:
			}
			if err := stores.Renew(auth.AsSystem(ctx)); err != nil && ctx.Err() == nil {
				a.life.logError("tokens of secret stores were not renewed", err)
			}
		}
	})
	return stores, nil
}

// openConnections returns the connections of projects, which are encrypted with the same keys.
func (a *App) openConnections(ctx context.Context, p *parts) (*connection.Service, error) {
	keys, err := a.keys.keyring()
	if err != nil {
		return nil, err
	}
	service := connection.NewService(connection.Config{
		Pool: p.pool, Keys: keys, Now: time.Now, Dialer: a.cfg.dialer(),
	})
	n, err := service.Reseal(auth.AsSystem(ctx))
	if err != nil {
		return nil, err
	}
	if n > 0 {
		a.cfg.Log.Info("Connections are encrypted with the new key; you can delete the older key files.", "connections", n)
	}
	return service, nil
}

// dialer opens connections to addresses that users enter.
func (c Config) dialer() outgoing.Dialer {
	return outgoing.Dialer{Hosts: c.OutgoingHosts, OwnHosts: len(c.Providers) == 0}
}
