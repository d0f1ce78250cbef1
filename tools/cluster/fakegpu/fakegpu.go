// Package fakegpu is a device plugin that offers simulated GPUs (nvidia.com/gpu) to a real
// kubelet. A container with GPUs finds their names in NVIDIA_VISIBLE_DEVICES, and one device
// /dev/nvidiaN per GPU, which is the host's /dev/null.
package fakegpu

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const (
	socketName   = "fake-gpu.sock"
	pollInterval = time.Second
)

// Run serves the plugin until SIGTERM or SIGINT and returns the exit code.
func Run(args []string) int {
	flags := flag.NewFlagSet("fake-gpu-plugin", flag.ExitOnError)
	dir := flags.String("dir", api.DevicePluginPath, "the kubelet's folder of device plugins")
	resource := flags.String("resource", "nvidia.com/gpu", "name of the resource")
	number := flags.Int("n", 4, "number of devices")
	unhealthy := flags.String("unhealthy-file", "", "file that names the devices which are unhealthy, one a line; read again all the time")
	_ = flags.Parse(args) // ExitOnError

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	p := &plugin{unhealthy: *unhealthy}
	for i := range *number {
		p.devices = append(p.devices, fmt.Sprintf("GPU-FAKE-%d", i))
	}
	if err := p.run(ctx, *dir, *resource); err != nil {
		slog.Error("fake GPUs", "error", err)
		return 1
	}
	return 0
}

type plugin struct {
	api.UnimplementedDevicePluginServer
	devices   []string
	unhealthy string
}

// run registers with the kubelet, and again after each restart of the kubelet. A restart empties
// the folder, and the new socket may have the inode number of the old one.
func (p *plugin) run(ctx context.Context, dir, resource string) error {
	socket, kubelet := filepath.Join(dir, socketName), filepath.Join(dir, "kubelet.sock")
	var server *grpc.Server
	stop := func() {
		if server != nil {
			server.Stop()
		}
	}
	defer func() { stop() }()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var known os.FileInfo
	for {
		now, err := os.Stat(kubelet)
		_, gone := os.Stat(socket)
		if err == nil && (known == nil || gone != nil || !os.SameFile(now, known)) {
			stop()
			if server, err = p.serve(socket); err != nil {
				return err
			}
			known = nil
			if err := register(ctx, kubelet, resource); err != nil {
				slog.Warn("fake GPUs: the kubelet does not register them; retrying", "error", err)
			} else {
				known = now
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (p *plugin) serve(socket string) (*grpc.Server, error) {
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	server := grpc.NewServer()
	api.RegisterDevicePluginServer(server, p)
	go func() {
		if err := server.Serve(listener); err != nil {
			slog.Warn("fake GPUs: serving ended", "error", err)
		}
	}()
	return server, nil
}

func register(ctx context.Context, kubelet, resource string) error {
	conn, err := grpc.NewClient("unix://"+kubelet, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err = api.NewRegistrationClient(conn).Register(ctx, &api.RegisterRequest{
		Version: api.Version, Endpoint: socketName, ResourceName: resource,
	})
	return err
}

// GetDevicePluginOptions returns no options.
func (p *plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{}, nil
}

// ListAndWatch sends the devices immediately and after each change of their health.
func (p *plugin) ListAndWatch(_ *api.Empty, stream grpc.ServerStreamingServer[api.ListAndWatchResponse]) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var sent []string
	for first := true; ; first = false {
		ill := p.ill()
		if first || !slices.Equal(ill, sent) {
			if err := stream.Send(p.list(ill)); err != nil {
				return err
			}
			sent = ill
		}
		select {
		case <-stream.Context().Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (p *plugin) ill() []string {
	if p.unhealthy == "" {
		return nil
	}
	text, err := os.ReadFile(p.unhealthy)
	if err != nil { // most of the time there is none
		return nil
	}
	return strings.Fields(string(text))
}

func (p *plugin) list(ill []string) *api.ListAndWatchResponse {
	out := &api.ListAndWatchResponse{}
	for _, id := range p.devices {
		health := api.Healthy
		if slices.Contains(ill, id) {
			health = api.Unhealthy
		}
		out.Devices = append(out.Devices, &api.Device{ID: id, Health: health})
	}
	return out
}

// Allocate returns the devices that the kubelet has selected for containers.
func (p *plugin) Allocate(_ context.Context, request *api.AllocateRequest) (*api.AllocateResponse, error) {
	out := &api.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		given := &api.ContainerAllocateResponse{
			Envs: map[string]string{"NVIDIA_VISIBLE_DEVICES": strings.Join(container.DevicesIds, ",")},
		}
		for _, id := range container.DevicesIds {
			given.Devices = append(given.Devices, &api.DeviceSpec{
				HostPath: "/dev/null", ContainerPath: "/dev/nvidia" + id[strings.LastIndexByte(id, '-')+1:], Permissions: "rw",
			})
		}
		out.ContainerResponses = append(out.ContainerResponses, given)
	}
	return out, nil
}
