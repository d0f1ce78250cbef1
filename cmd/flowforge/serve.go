package main

import (
	"fmt"
	"log/slog"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/app"
)

// Default requests of a task that names no CPU or no memory.
const (
	defaultCPUMillis = 100
	defaultMemoryMiB = 256
)

func newServeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Start the server; without settings, everything runs on this machine",
		Long: "Start the server. Settings come from the environment; docs/settings.md lists them.\n" +
			"Ctrl-C stops the server, its engines and every running task.",
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := configFromEnvironment()
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
		Short: "Migrate the schema of FLOWFORGE_DATABASE_URL and exit",
		Args:  arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			url := os.Getenv("FLOWFORGE_DATABASE_URL")
			if url == "" {
				return fmt.Errorf("FLOWFORGE_DATABASE_URL is not set; `flowforge serve` migrates its embedded database when it starts")
			}
			return app.Migrate(cmd.Context(), url)
		},
	}
}

// configFromEnvironment is the only place that reads the server's environment.
func configFromEnvironment() (app.Config, error) {
	executable, err := os.Executable()
	if err != nil {
		return app.Config{}, fmt.Errorf("find our own binary: %w", err)
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(setting("FLOWFORGE_LOG_LEVEL", "INFO"))); err != nil {
		return app.Config{}, fmt.Errorf("FLOWFORGE_LOG_LEVEL: write DEBUG, INFO, WARN or ERROR")
	}
	c := app.Config{
		Addr: setting("FLOWFORGE_ADDR", "127.0.0.1:8080"), DataDir: dataDir(),
		DatabaseURL: os.Getenv("FLOWFORGE_DATABASE_URL"), ClickHouseURL: os.Getenv("FLOWFORGE_CLICKHOUSE_URL"),
		PostgresDir: os.Getenv("FLOWFORGE_POSTGRES_DIR"), ChdbLibrary: os.Getenv("FLOWFORGE_CHDB_LIB"),
		Executable: executable, Environ: os.Environ(), SkipExamples: os.Getenv("FLOWFORGE_EXAMPLES") == "off",
		GPUs: os.Getenv("FLOWFORGE_GPUS"), LocalImages: os.Getenv("FLOWFORGE_LOCAL_IMAGES"),
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})),
	}
	var spoolMiB int
	for _, s := range []struct {
		name     string
		fallback int
		into     *int
	}{
		{"FLOWFORGE_SPOOL_MAX_MIB", 1024, &spoolMiB},
		{"FLOWFORGE_LOG_RETENTION_DAYS", 90, &c.LogRetentionDays},
		{"FLOWFORGE_CPU_MILLIS", 0, &c.CPUMillis},
		{"FLOWFORGE_MEMORY_MIB", 0, &c.MemoryMiB},
		{"FLOWFORGE_SLOTS", 0, &c.Slots},
		{"FLOWFORGE_DEFAULT_CPU_MILLIS", defaultCPUMillis, &c.DefaultCPUMillis},
		{"FLOWFORGE_DEFAULT_MEMORY_MIB", defaultMemoryMiB, &c.DefaultMemoryMiB},
	} {
		n, err := number(s.name, s.fallback)
		if err != nil {
			return app.Config{}, err
		}
		*s.into = n
	}
	c.SpoolMaxBytes = int64(spoolMiB) << 20
	if err := rolesFromEnvironment(&c); err != nil {
		return app.Config{}, err
	}
	c.TLS = tlsFromEnvironment()
	if c.Observability, err = observabilityFromEnvironment(); err != nil {
		return app.Config{}, err
	}
	if c.Artifacts, err = artifactsFromEnvironment(); err != nil {
		return app.Config{}, err
	}
	if c.Retention, err = retentionFromEnvironment(); err != nil {
		return app.Config{}, err
	}
	if c.Kube, err = kubeFromEnvironment(os.Environ()); err != nil {
		return app.Config{}, err
	}
	return c, signInFromEnvironment(&c)
}

func number(name string, fallback int) (int, error) {
	n, err := strconv.Atoi(setting(name, strconv.Itoa(fallback)))
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s %q: write a whole number of 0 or more", name, os.Getenv(name))
	}
	return n, nil
}

func setting(name, fallback string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return fallback
}
