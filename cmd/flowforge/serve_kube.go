package main

import (
	"fmt"
	"os"

	"github.com/flowforge/flowforge/cmd/flowforge/settings"
	"github.com/flowforge/flowforge/compute/launcher/kube"
	"github.com/flowforge/flowforge/compute/launcher/kube/image"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

// kubeFrom returns the configuration for tasks in pods, or nil if tasks run as local
// processes.
func kubeFrom(s settings.Settings) (*kube.ControllerConfig, error) {
	if s.Tasks.Launcher != "kube" {
		return nil, nil //nolint:nilnil // a configuration without a cluster is valid
	}
	p := s.Pods
	commands, badCommands := imageCommands(p.ImageCommands)
	badCredentials := registryConfig(p.RegistryConfig)
	c := &kube.ControllerConfig{
		Config: kube.Config{
			Kubeconfig: p.Kubeconfig, Context: p.Context, Cluster: p.Cluster, Namespace: string(p.NamespacePrefix),
			Image: p.Image, TaskImage: p.TaskImage, ImageCommands: commands, TaskURL: s.Tasks.TaskURL,
			RegistryConfig: p.RegistryConfig, InsecureRegistries: p.InsecureRegistries,
			QPS: float32(p.QPS), Burst: p.Burst, Concurrency: p.Concurrency,
			GPUResource: p.GPUResource, GPULabel: p.GPULabel, GPUTypes: pod.GPUTypes(p.GPUTypes),
			ImageTimeout: p.ImageTimeout, StartTimeout: p.StartTimeout, PendingTimeout: p.PendingTimeout, LostAfter: p.LostAfter,
			ResidentMax: p.ResidentMax, ResidentIdle: p.ResidentIdle, ResidentEnv: s.Tasks.WarmEnv(),
			TokenAudience: p.TokenAudience, TokenAccounts: p.TokenAccounts,
			PodSecurity: p.PodSecurity, Defaults: p.PodDefaults.Fields(),
		},
		KeepFailed: p.KeepFailed,
		Network: kube.Network{
			Open: p.NetworkPolicy == "off", Egress: p.Egress, ServerNamespace: p.ServerNamespace, ServerLabels: p.ServerLabels,
		},
	}
	return c, settings.Join(badCommands, badCredentials)
}

// imageCommands reads the file with the default commands of images.
func imageCommands(path string) (map[string]image.Command, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("FLOWFORGE_KUBE_IMAGE_COMMANDS: %w", err)
	}
	commands, err := image.ParseTable(data)
	if err != nil {
		return nil, fmt.Errorf("FLOWFORGE_KUBE_IMAGE_COMMANDS %q: %w", path, err)
	}
	return commands, nil
}

// registryConfig checks the file with the credentials of registries. Each lookup reads the
// file again.
func registryConfig(path string) error {
	if path == "" {
		return nil
	}
	if err := image.CheckCredentials(path); err != nil {
		return fmt.Errorf("FLOWFORGE_KUBE_REGISTRY_CONFIG %q: %w", path, err)
	}
	return nil
}
