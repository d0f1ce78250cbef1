package app

import (
	"crypto/tls"
	"fmt"
	"net/http"

	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
	"github.com/flowforge/flowforge/platform/certificate"
)

// internalName is what the certificates of servers have to be for, by default: they
// reach one another by addresses that no certificate names.
const internalName = "flowforge-internal"

// TLS says with which certificates this server talks to tasks and to other servers.
// Files are read again when they change.
type TLS struct {
	Task     certificate.Files // of FLOWFORGE_TASK_ADDR; with a CA tasks have to show a certificate from it
	Pods     certificate.Files // handed to pods: what they verify the task address by, and what they show there
	Internal certificate.Files // of InternalAddr: every server shows one from the CA
	// InternalAddr is where servers reach one another when Internal is set.
	InternalAddr string
	InternalName string // that certificates of servers are for; "" is flowforge-internal
}

// loadTLS reads the certificates, so that wrong ones are told at once.
func (a *App) loadTLS() error {
	c := a.cfg.TLS
	if err := a.loadPodFiles(); err != nil {
		return err
	}
	var err error
	if c.Task.Cert != "" {
		if a.cfg.TaskAddr == "" {
			return fmt.Errorf("FLOWFORGE_TASK_TLS_CERT is set, and FLOWFORGE_TASK_ADDR is not")
		}
		if a.taskTLS, err = certificate.Load(c.Task); err != nil {
			return fmt.Errorf("FLOWFORGE_TASK_TLS_CERT, _KEY, _CLIENT_CA: %w", err)
		}
	} else if c.Task.Key != "" || c.Task.CA != "" {
		return fmt.Errorf("FLOWFORGE_TASK_TLS_CERT is not set")
	}
	if c.Internal == (certificate.Files{}) {
		return nil
	}
	if c.Internal.Cert == "" || c.Internal.Key == "" || c.Internal.CA == "" || c.InternalAddr == "" {
		return fmt.Errorf("FLOWFORGE_INTERNAL_TLS_CERT, _KEY, _CA and FLOWFORGE_INTERNAL_ADDR go together")
	}
	if a.internalTLS, err = certificate.Load(c.Internal); err != nil {
		return fmt.Errorf("FLOWFORGE_INTERNAL_TLS_CERT, _KEY, _CA: %w", err)
	}
	a.internalListener, err = a.listen("FLOWFORGE_INTERNAL_ADDR", c.InternalAddr)
	return err
}

// loadPodFiles reads what pods are handed.
func (a *App) loadPodFiles() (err error) {
	pods := a.cfg.TLS.Pods
	switch {
	case (pods.Cert == "") != (pods.Key == ""):
		return fmt.Errorf("FLOWFORGE_TASK_TLS_CLIENT_CERT and FLOWFORGE_TASK_TLS_CLIENT_KEY go together")
	case a.cfg.Kube != nil && a.cfg.Roles.Have(Scheduler) && a.cfg.TLS.Task.CA != "" && pods.Cert == "":
		return fmt.Errorf("FLOWFORGE_TASK_TLS_CLIENT_CA is set, and pods have no FLOWFORGE_TASK_TLS_CLIENT_CERT to show")
	case pods == (certificate.Files{}):
		return nil
	}
	if a.podFiles, err = certificate.Load(pods); err != nil {
		return fmt.Errorf("FLOWFORGE_TASK_TLS_CA, _CLIENT_CERT, _CLIENT_KEY: %w", err)
	}
	return nil
}

// taskFiles are the files that a pod is handed now; nil when there are none.
func (a *App) taskFiles() map[string][]byte {
	if a.podFiles == nil {
		return nil
	}
	files, text := map[string][]byte{}, a.podFiles.Texts()
	for name, content := range map[string][]byte{pod.FileCA: text.CA, pod.FileCert: text.Cert, pod.FileKey: text.Key} {
		if content != nil {
			files[name] = content
		}
	}
	return files
}

// taskServerTLS is nil when tasks are answered without TLS.
func (a *App) taskServerTLS() *tls.Config {
	if a.taskTLS == nil {
		return nil
	}
	return a.taskTLS.Server()
}

// serveInternal answers other servers where they show their certificates. Elsewhere
// nothing is taken that says it was sent on.
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
	a.startTLS(a.internalListener, a.observed(sent), a.internalTLS.Server())
}

// fromOutside refuses what only servers with certificates may send.
func (a *App) fromOutside(site http.Handler) http.Handler {
	if a.internalListener == nil {
		return site
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(hopHeader) != "" {
			http.Error(w, "Servers of the installation send requests on elsewhere.", http.StatusBadRequest)
			return
		}
		site.ServeHTTP(w, r)
	})
}

// secure has the proxy to the leader show our certificate and ask for its.
func (l *leaderProxy) secure(pair *certificate.Pair, name string) {
	if name == "" {
		name = internalName
	}
	l.transport.DialTLSContext = pair.Dial(name, hopDial)
}
