package main

import (
	"os"

	"github.com/flowforge/flowforge/app"
	"github.com/flowforge/flowforge/platform/certificate"
)

// tlsFromEnvironment reads the certificates for tasks and for other servers.
func tlsFromEnvironment() app.TLS {
	return app.TLS{
		Task: certificate.Files{
			Cert: os.Getenv("FLOWFORGE_TASK_TLS_CERT"), Key: os.Getenv("FLOWFORGE_TASK_TLS_KEY"), CA: os.Getenv("FLOWFORGE_TASK_TLS_CLIENT_CA"),
		},
		Pods: certificate.Files{
			Cert: os.Getenv("FLOWFORGE_TASK_TLS_CLIENT_CERT"), Key: os.Getenv("FLOWFORGE_TASK_TLS_CLIENT_KEY"), CA: os.Getenv("FLOWFORGE_TASK_TLS_CA"),
		},
		Internal: certificate.Files{
			Cert: os.Getenv("FLOWFORGE_INTERNAL_TLS_CERT"), Key: os.Getenv("FLOWFORGE_INTERNAL_TLS_KEY"), CA: os.Getenv("FLOWFORGE_INTERNAL_TLS_CA"),
		},
		InternalAddr: os.Getenv("FLOWFORGE_INTERNAL_ADDR"), InternalName: os.Getenv("FLOWFORGE_INTERNAL_TLS_SERVER_NAME"),
	}
}
