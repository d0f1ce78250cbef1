package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/compute/runner"
	"github.com/flowforge/flowforge/compute/worker"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/platform/release"
	"github.com/flowforge/flowforge/platform/units"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// maxWorkerGPUs is the maximum number of GPUs of a worker.
const maxWorkerGPUs = 1024

// tokenVariable holds the token of a pool, which other users of the machine cannot read there.
const tokenVariable = "FLOWFORGE_WORKER_TOKEN"

func newWorkerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Pull tasks from a pool and run them on this machine",
		Long: "Pull tasks from a pool and run them on this machine.\n\n" +
			"The first SIGTERM or Ctrl-C drains the worker: it finishes the running tasks and takes no more. A second signal interrupts them.",
		Example: "  FLOWFORGE_WORKER_TOKEN=ffw_… flowforge worker --server https://flowforge.example.com --pool gpu-lab --label zone=a --gpus A100:4",
		Args:    arguments(),
		RunE:    runWorker,
	}
	f := cmd.Flags()
	f.String("server", clientSettings().URL, "address of the server (FLOWFORGE_SERVER)")
	f.String("token", "", "token of the pool, or @path of a file with it ("+tokenVariable+")")
	f.String("pool", "", "name of the pool; the worker exits if the token belongs to another pool")
	f.String("name", "", "name of this machine; without it, the host name")
	f.StringArray("label", nil, "label of the worker: key=value; tasks can require labels")
	f.String("dir", ".flowforge-worker", "folder for the state of the worker; each worker needs its own")
	f.Int("slots", 0, "number of concurrent tasks, regardless of the CPU and memory that they request")
	f.Float64("cpu", 0, "CPU cores for tasks; without it, those of the machine")
	f.String("memory", "", "memory for tasks, such as 32Gi; without it, most of the machine's")
	f.String("gpus", "", "GPUs for tasks: their number, their type and number such as A100:4, or none; without it, those that nvidia-smi lists")
	f.String("ca", "", "PEM file of certificate authorities to trust in addition to those of the system")
	f.String("cert", "", "PEM file of the client certificate (mTLS)")
	f.String("key", "", "PEM file of the key of the client certificate")
	return cmd
}

func runWorker(cmd *cobra.Command, _ []string) error {
	config, err := workerConfig(cmd)
	if err != nil {
		return err
	}
	debug.SetGCPercent(garbagePercent)
	// The context of the command ends at the first signal, which here begins the drain.
	ctx, interrupt := context.WithCancel(context.WithoutCancel(cmd.Context()))
	defer interrupt()
	drain := make(chan struct{})
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	go func() {
		select {
		case <-ctx.Done():
			return
		case <-signals:
		}
		config.Logger.Info("Draining: the worker exits after its running tasks have ended. A second signal interrupts them.")
		close(drain)
		select {
		case <-ctx.Done():
		case <-signals:
			config.Logger.Info("Interrupting the running tasks.")
			interrupt()
		}
	}()
	return worker.Run(ctx, config, drain)
}

func workerConfig(cmd *cobra.Command) (worker.Config, error) {
	f := cmd.Flags()
	server, err := serverFlag(cmd)
	if err != nil {
		return worker.Config{}, err
	}
	dir, _ := f.GetString("dir")
	supervisor, err := runnerConfig(dir)
	if err != nil {
		return worker.Config{}, err
	}
	c := worker.Config{Runner: supervisor, Logger: supervisor.Logger, Labels: map[string]string{}}
	c.Pool, _ = f.GetString("pool")
	name, _ := f.GetString("name")
	c.Name = cmp.Or(name, supervisor.Host)
	c.Runner.Machine, c.Runner.Version = c.Name, release.Describe()
	if c.Runner.Server, err = workerEndpoint(cmd, server); err != nil {
		return c, err
	}
	if c.Token, err = workerToken(cmd); err != nil {
		return c, err
	}
	labels, _ := f.GetStringArray("label")
	for _, text := range labels {
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			return c, fmt.Errorf("--label %s: write key=value", text)
		}
		c.Labels[key] = value
	}
	return c, addCapacity(cmd, &c)
}

// workerToken reads the token from --token, a file, or the environment.
func workerToken(cmd *cobra.Command) (string, error) {
	token, _ := cmd.Flags().GetString("token")
	if path, isFile := strings.CutPrefix(token, "@"); isFile {
		raw, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("--token: %w", err)
		}
		token = string(raw)
	}
	token = strings.TrimSpace(cmp.Or(token, os.Getenv(tokenVariable)))
	if token == "" {
		return "", fmt.Errorf("no token: set %s or --token; an administrator creates one with `flowforge pool token POOL`", tokenVariable)
	}
	return token, os.Unsetenv(tokenVariable)
}

// addCapacity sets what the tasks of the worker may request together.
func addCapacity(cmd *cobra.Command, c *worker.Config) error {
	f := cmd.Flags()
	machine := quota.Machine()
	slots, _ := f.GetInt("slots")
	cpu, _ := f.GetFloat64("cpu")
	memory, _ := f.GetString("memory")
	if f.Changed("slots") && (f.Changed("cpu") || f.Changed("memory")) {
		return errors.New("use either --slots, or --cpu and --memory")
	}
	if slots < 0 || cpu < 0 || f.Changed("slots") && slots == 0 {
		return errors.New("--slots and --cpu must be positive")
	}
	capacity := &flowforgev1.WorkerCapacity{Slots: int32(slots)} //nolint:gosec // the server checks it
	if slots == 0 {
		capacity.Slots, capacity.CpuMillis, capacity.MemoryMib = int32(machine.Pods), int32(machine.CPUMillis), int64(machine.MemoryMiB) //nolint:gosec // of a machine
		if cpu > 0 {
			capacity.CpuMillis = int32(cpu * 1000)
		}
		if memory != "" {
			number, unit, ok := units.Quantity(memory)
			bytes, known := units.SizeOf(unit)
			if !ok || !known || number <= 0 {
				return fmt.Errorf("--memory %q is not a size such as 512Mi or 32Gi", memory)
			}
			capacity.MemoryMib = int64(number * bytes / (1 << 20))
		}
	}
	text, _ := f.GetString("gpus")
	devices, err := workerGPUs(text)
	if err != nil {
		return err
	}
	if text == "" {
		devices = quota.DetectGPUs(cmd.Context())
	}
	for _, d := range devices {
		c.GPUs, capacity.GpuType = append(c.GPUs, d.Index), d.Type
	}
	if len(devices) > 0 && slices.ContainsFunc(devices, func(d fair.Device) bool { return d.Type != devices[0].Type }) {
		return errors.New("the GPUs of this machine have several types: start one worker for each type, with --gpus and CUDA_VISIBLE_DEVICES")
	}
	capacity.Gpus = int32(len(devices)) //nolint:gosec // of a machine
	c.Capacity = capacity
	return nil
}

// workerGPUs reads a list such as A100:4, or the number of GPUs without a type.
func workerGPUs(text string) ([]fair.Device, error) {
	count, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		devices, err := quota.ParseGPUs(text)
		if err != nil {
			return nil, fmt.Errorf("--gpus: %w", err)
		}
		return devices, nil
	}
	if count < 0 || count > maxWorkerGPUs {
		return nil, fmt.Errorf("--gpus %d: enter 0 to %d", count, maxWorkerGPUs)
	}
	devices := make([]fair.Device, count)
	for i := range devices {
		devices[i].Index = i
	}
	return devices, nil
}

// workerEndpoint returns the server with the certificates for its connection.
func workerEndpoint(cmd *cobra.Command, server string) (runner.Endpoint, error) {
	f := cmd.Flags()
	authorities, _ := f.GetString("ca")
	certificate, _ := f.GetString("cert")
	key, _ := f.GetString("key")
	endpoint := runner.Endpoint{URL: server}
	if authorities == "" && certificate == "" && key == "" {
		return endpoint, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if authorities != "" {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		pem, err := os.ReadFile(filepath.Clean(authorities))
		if err != nil {
			return endpoint, fmt.Errorf("--ca: %w", err)
		}
		if !pool.AppendCertsFromPEM(pem) {
			return endpoint, fmt.Errorf("--ca %s has no PEM certificate", authorities)
		}
		config.RootCAs = pool
	}
	if (certificate == "") != (key == "") {
		return endpoint, errors.New("use --cert and --key together")
	}
	if certificate != "" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return endpoint, fmt.Errorf("--cert and --key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		transport = &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	}
	transport = transport.Clone()
	transport.TLSClientConfig = config
	endpoint.Client = &http.Client{Transport: transport}
	return endpoint, nil
}
