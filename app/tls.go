package app

import (
	"crypto/tls"
	"fmt"
	"net/http"

	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
	"github.com/flowforge/flowforge/platform/certificate"
)

// internalName is the default name in the servers' certificates: servers reach each other
// at addresses that no certificate contains.
const internalName = "flowforge-internal"

// TLS configures the certificates with which this server communicates with tasks and
// other servers. Files are read again when they change.
type TLS struct {
	Task     certificate.Files // of FLOWFORGE_TASK_ADDR; with a CA, tasks must present a certificate of it
	Pods     certificate.Files // passed to pods: the CA of the task address, and the certificate that they present
	Internal certificate.Files // of InternalAddr: every server presents a certificate of the CA
	// InternalAddr is the address at which servers reach each other if Internal is set.
	InternalAddr string
	InternalName string // name in the certificates of servers; "": flowforge-internal
}

// certificates are the loaded certificates of this server; nil: not configured.
type certificates struct {
	task, internal, pods *certificate.Pair
}

// loadCertificates reads the certificates, so that invalid ones are reported immediately.
func loadCertificates(cfg Config) (loaded certificates, err error) {
	c := cfg.TLS
	if loaded.pods, err = loadPodCertificate(cfg); err != nil {
		return loaded, err
	}
	if c.Task.Cert != "" {
		if cfg.TaskAddr == "" {
			return loaded, fmt.Errorf("FLOWFORGE_TASK_TLS_CERT is set, and FLOWFORGE_TASK_ADDR is not")
		}
		if loaded.task, err = certificate.Load(c.Task); err != nil {
			return loaded, fmt.Errorf("FLOWFORGE_TASK_TLS_CERT, _KEY, _CLIENT_CA: %w", err)
		}
	} else if c.Task.Key != "" || c.Task.CA != "" {
		return loaded, fmt.Errorf("FLOWFORGE_TASK_TLS_CERT is not set")
	}
	if c.Internal == (certificate.Files{}) {
		return loaded, nil
	}
	if c.Internal.Cert == "" || c.Internal.Key == "" || c.Internal.CA == "" || c.InternalAddr == "" {
		return loaded, fmt.Errorf("FLOWFORGE_INTERNAL_TLS_CERT, _KEY, _CA and FLOWFORGE_INTERNAL_ADDR must be set together")
	}
	if loaded.internal, err = certificate.Load(c.Internal); err != nil {
		return loaded, fmt.Errorf("FLOWFORGE_INTERNAL_TLS_CERT, _KEY, _CA: %w", err)
	}
	return loaded, nil
}

// loadPodCertificate reads the files that pods get; nil when there are none.
func loadPodCertificate(c Config) (*certificate.Pair, error) {
	pods := c.TLS.Pods
	switch {
	case (pods.Cert == "") != (pods.Key == ""):
		return nil, fmt.Errorf("FLOWFORGE_TASK_TLS_CLIENT_CERT and FLOWFORGE_TASK_TLS_CLIENT_KEY must be set together")
	case c.Kube != nil && c.Roles.Have(Scheduler) && c.TLS.Task.CA != "" && pods.Cert == "":
		return nil, fmt.Errorf("FLOWFORGE_TASK_TLS_CLIENT_CA is set, but pods have no certificate to present: set FLOWFORGE_TASK_TLS_CLIENT_CERT")
	case pods == (certificate.Files{}):
		return nil, nil //nolint:nilnil // pods get no files
	}
	pair, err := certificate.Load(pods)
	if err != nil {
		return nil, fmt.Errorf("FLOWFORGE_TASK_TLS_CA, _CLIENT_CERT, _CLIENT_KEY: %w", err)
	}
	return pair, nil
}

// podFiles returns the current files for pods; nil when there are none.
func (c certificates) podFiles() map[string][]byte {
	if c.pods == nil {
		return nil
	}
	files, text := map[string][]byte{}, c.pods.Texts()
	for name, content := range map[string][]byte{pod.FileCA: text.CA, pod.FileCert: text.Cert, pod.FileKey: text.Key} {
		if content != nil {
			files[name] = content
		}
	}
	return files
}

// taskServer returns nil when tasks are served without TLS.
func (c certificates) taskServer() *tls.Config {
	if c.task == nil {
		return nil
	}
	return c.task.Server()
}

// serveInternal serves other servers that present their certificates. Forwarded requests
// are not accepted on other addresses.
func (a *App) serveInternal(p *parts) {
	if a.internalListener == nil {
		return
	}
	site := a.handler(p, false)
	sent := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(hopHeader) == "" {
			http.Error(w, "This address is for servers of the installation.", http.StatusNotFound)
			return
		}
		site.ServeHTTP(w, r)
	})
	a.life.serveTLS(a.internalListener, a.monitoring.observed(sent), a.certs.internal.Server())
}

// fromOutside rejects requests that only servers with certificates may send.
func (a *App) fromOutside(site http.Handler) http.Handler {
	if a.internalListener == nil {
		return site
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(hopHeader) != "" {
			http.Error(w, "Forwarded requests are accepted only on the internal address.", http.StatusBadRequest)
			return
		}
		site.ServeHTTP(w, r)
	})
}

// secure configures mutual TLS for the proxy to the leader.
func (l *leaderProxy) secure(pair *certificate.Pair, name string) {
	if name == "" {
		name = internalName
	}
	l.transport.DialTLSContext = pair.Dial(name, hopDial)
}
