package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/app"
	"github.com/flowforge/flowforge/cmd/flowforge/settings"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/platform/certificate"
	"github.com/flowforge/flowforge/platform/observability"
)

func newServeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Start the server; by default, everything runs on this machine",
		Long: "Start the server. Settings come from the environment; docs/settings.md lists them.\n" +
			"Ctrl-C stops the server, its engines and every running task.",
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := configFrom(os.Environ())
			if err != nil {
				return err
			}
			config.Out = cmd.OutOrStdout()
			a, err := app.New(config)
			if err != nil {
				return err
			}
			return a.Run(cmd.Context())
		},
	}
}

func newMigrateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Migrate the database schema of FLOWFORGE_DATABASE_URL and exit",
		Args:  arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			databases, err := settings.Part[settings.Databases](os.Environ())
			if err != nil {
				return err
			}
			if databases.DatabaseURL == "" {
				return fmt.Errorf("FLOWFORGE_DATABASE_URL is not set; `flowforge serve` migrates its embedded database when it starts")
			}
			return app.Migrate(cmd.Context(), databases.DatabaseURL, databases.DatabaseSessionURL)
		},
	}
}

// configFrom returns the configuration of a server with these variables. The error contains
// all invalid values or, if there are none, all problems of the configuration: checking it
// without a value would report problems that do not exist.
func configFrom(environ []string) (app.Config, error) {
	executable, err := os.Executable()
	if err != nil {
		return app.Config{}, fmt.Errorf("find the flowforge binary: %w", err)
	}
	s, err := settings.Parse(environ)
	roles, badRoles := app.ParseRoles(s.Servers.Roles)
	if badRoles != nil {
		badRoles = fmt.Errorf("FLOWFORGE_ROLES %q: %w", s.Servers.Roles, badRoles)
	}
	providers, badProviders := providersFrom(s.SignIn)
	cluster, badCluster := kubeFrom(s)
	mail, badMail := mailFrom(s.Mail)
	if err := settings.Join(err, badRoles, badProviders, badCluster, badMail); err != nil {
		return app.Config{}, err
	}
	c := app.Config{
		Addr: s.Server.Addr, DataDir: s.Server.DataDir, PublicURL: s.Server.PublicURL, TrustedProxies: s.Server.TrustedProxies,
		DrainDelay: time.Duration(s.Server.DrainSeconds) * time.Second, SkipExamples: !bool(s.Server.Examples),
		Executable: executable, Environ: environ,
		DatabaseURL: s.Databases.DatabaseURL, DatabaseSessionURL: s.Databases.DatabaseSessionURL, DatabaseReadURL: s.Databases.DatabaseReadURL, DatabaseReadLag: s.Databases.DatabaseReadLag, ClickHouseURL: s.Databases.ClickHouseURL, ClickHouseIdle: s.Databases.ClickHouseIdle,
		PostgresDir: s.Databases.PostgresDir, ChdbLibrary: s.Databases.ChdbLibrary,
		SpoolMaxBytes: int64(s.Databases.SpoolMaxMiB) << 20, LogRetentionDays: s.Databases.LogRetentionDays,
		CPUMillis: s.Tasks.CPUMillis, MemoryMiB: s.Tasks.MemoryMiB, Slots: s.Tasks.Slots,
		DefaultCPUMillis: s.Tasks.DefaultCPUMillis, DefaultMemoryMiB: s.Tasks.DefaultMemoryMiB,
		Python: s.Tasks.Python, SweepPython: s.Tasks.SweepPython,
		GPUs: s.Tasks.GPUs, LocalImages: s.Tasks.LocalImages, TaskAddr: s.Tasks.TaskAddr, TaskURL: s.Tasks.TaskURL,
		WorkerLostAfter: s.Tasks.WorkerLostAfter,
		Roles:           roles, Instance: s.Servers.Instance, SecretsDir: s.Servers.SecretsDir, AdvertiseAddr: s.Servers.AdvertiseAddr,
		Leases: s.Servers.Leases, Kubernetes: app.KubernetesLeases{Kubeconfig: s.Pods.Kubeconfig, Namespace: s.Servers.LeaseNamespace},
		Providers: providers, SessionLimits: sessionLimits(s.SignIn), RateLimits: rateLimits(s.RateLimits, len(providers) > 0),
		Artifacts: artifactsFrom(s.Artifacts), OutgoingHosts: s.Server.OutgoingHosts, OptionHosts: s.Options.Hosts, Metaflow: app.Metaflow{Roots: s.Metaflow.Roots, Endpoints: s.Metaflow.Endpoints, Proxy: http.ProxyFromEnvironment}, Retention: retentionFrom(s.Retention), TLS: tlsFrom(s),
		Events:        eventsFrom(s.Events),
		Observability: observabilityFrom(s.Observability), Kube: cluster, Mail: mail,
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: s.Server.LogLevel})),
	}
	return c, settings.Join(c.Problems()...)
}

// artifactsFrom returns where artifacts are stored. The AWS SDK finds the credentials of an
// object store.
func artifactsFrom(s settings.Artifacts) app.Artifacts {
	return app.Artifacts{Location: s.Location, Endpoint: s.Endpoint, PublicEndpoint: s.PublicEndpoint, PathStyle: s.PathStyle, Direct: s.Direct}
}

func retentionFrom(s settings.Retention) app.Retention {
	rule := workflow.TTL{Completion: s.Completion.Limit(), Success: s.Success.Limit(), Failure: s.Failure.Limit()}
	return app.Retention{Rule: rule, Grace: s.Grace.Duration(), Development: s.Development.Duration(), Every: s.Sweep.Duration(), Events: s.Events.Duration()}
}

// tlsFrom returns the certificates for tasks and for other servers.
func tlsFrom(s settings.Settings) app.TLS {
	c := s.Certificates
	return app.TLS{
		Task:         certificate.Files{Cert: c.TaskCert, Key: c.TaskKey, CA: c.TaskClientCA},
		Pods:         certificate.Files{Cert: c.PodCert, Key: c.PodKey, CA: c.PodCA},
		Internal:     certificate.Files{Cert: c.InternalCert, Key: c.InternalKey, CA: c.InternalCA},
		InternalAddr: s.Servers.InternalAddr, InternalName: c.InternalName,
	}
}

func observabilityFrom(s settings.Observability) app.Observability {
	return app.Observability{
		MetricsAddr: s.MetricsAddr, MetricsTenants: s.MetricsTenants,
		Traces: observability.TraceConfig{On: s.Traces()},
	}
}
