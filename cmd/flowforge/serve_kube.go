package main

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/launcher/kube"
	"github.com/flowforge/flowforge/compute/launcher/kube/image"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

const kubePrefix = "FLOWFORGE_KUBE_"

// kubeSetting reads one FLOWFORGE_KUBE_ variable.
type kubeSetting func(c *kube.ControllerConfig, value string) error

// kubeSettings lists all FLOWFORGE_KUBE_ settings. Any other name is an error.
func kubeSettings() map[string]kubeSetting {
	return map[string]kubeSetting{
		"CONFIG":           text(func(c *kube.ControllerConfig) *string { return &c.Kubeconfig }),
		"CONTEXT":          text(func(c *kube.ControllerConfig) *string { return &c.Context }),
		"CLUSTER":          text(func(c *kube.ControllerConfig) *string { return &c.Cluster }),
		"NAMESPACE_PREFIX": kubeNamespacePrefix,
		"IMAGE":            text(func(c *kube.ControllerConfig) *string { return &c.Image }),
		"TASK_IMAGE":       text(func(c *kube.ControllerConfig) *string { return &c.TaskImage }),
		"GPU_LABEL":        text(func(c *kube.ControllerConfig) *string { return &c.GPULabel }),
		"GPU_RESOURCE":     text(func(c *kube.ControllerConfig) *string { return &c.GPUResource }),
		"QPS":              count(func(c *kube.ControllerConfig, n int) { c.QPS = float32(n) }),
		"BURST":            count(func(c *kube.ControllerConfig, n int) { c.Burst = n }),
		"CONCURRENCY":      count(func(c *kube.ControllerConfig, n int) { c.Concurrency = n }),
		"IMAGE_TIMEOUT":    duration(func(c *kube.ControllerConfig) *time.Duration { return &c.ImageTimeout }),
		"START_TIMEOUT":    duration(func(c *kube.ControllerConfig) *time.Duration { return &c.StartTimeout }),
		"PENDING_TIMEOUT":  duration(func(c *kube.ControllerConfig) *time.Duration { return &c.PendingTimeout }),
		"RESIDENT_MAX":     count(func(c *kube.ControllerConfig, n int) { c.ResidentMax = n }),
		"RESIDENT_IDLE":    duration(func(c *kube.ControllerConfig) *time.Duration { return &c.ResidentIdle }),
		"LOST_AFTER":       duration(func(c *kube.ControllerConfig) *time.Duration { return &c.LostAfter }),
		"KEEP_FAILED":      duration(func(c *kube.ControllerConfig) *time.Duration { return &c.KeepFailed }),
		"GPU_TYPES":        kubeGPUTypes,
		"POD_SECURITY":     kubePodSecurity,
		"DEFAULTS":         kubeDefaults,
		"NETWORK_POLICY":   kubeNetworkPolicy,
		"EGRESS":           kubeEgress,
		"SERVER_NAMESPACE": text(func(c *kube.ControllerConfig) *string { return &c.Network.ServerNamespace }),
		"SERVER_LABELS":    kubeServerLabels,

		"IMAGE_COMMANDS":      kubeImageCommands,
		"REGISTRY_CONFIG":     kubeRegistryConfig,
		"INSECURE_REGISTRIES": kubeInsecureRegistries,
	}
}

// kubeFromEnvironment reads the settings for tasks in pods. It returns nil if tasks run as local
// processes.
func kubeFromEnvironment(environ []string) (*kube.ControllerConfig, error) {
	switch launcher := setting("FLOWFORGE_LAUNCHER", "local"); launcher {
	case "local":
		return nil, nil //nolint:nilnil // a configuration without a cluster is valid
	case "kube":
	default:
		return nil, fmt.Errorf("FLOWFORGE_LAUNCHER %q: write local or kube", launcher)
	}
	c, err := kubeSettingsOf(environ)
	if err != nil {
		return nil, err
	}
	c.TaskURL = os.Getenv("FLOWFORGE_TASK_URL")
	return c, nil
}

// kubeSettingsOf reads the FLOWFORGE_KUBE_ variables among environ.
func kubeSettingsOf(environ []string) (*kube.ControllerConfig, error) {
	known := kubeSettings()
	c := &kube.ControllerConfig{}
	for _, entry := range slices.Sorted(slices.Values(environ)) {
		name, value, _ := strings.Cut(entry, "=")
		short, ours := strings.CutPrefix(name, kubePrefix)
		if !ours {
			continue
		}
		read, ok := known[short]
		if !ok {
			return nil, fmt.Errorf("%s is not a setting; the settings that begin with %s are %s", name, kubePrefix, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		if value == "" {
			continue
		}
		if err := read(c, value); err != nil {
			return nil, fmt.Errorf("%s %q: %w", name, value, err)
		}
	}
	if c.Image == "" {
		return nil, fmt.Errorf("%sIMAGE is not set: FLOWFORGE_LAUNCHER=kube needs FlowForge's image, which copies the program into every pod", kubePrefix)
	}
	return c, nil
}

func text(field func(*kube.ControllerConfig) *string) kubeSetting {
	return func(c *kube.ControllerConfig, value string) error {
		*field(c) = value
		return nil
	}
}

func count(set func(*kube.ControllerConfig, int)) kubeSetting {
	return func(c *kube.ControllerConfig, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return fmt.Errorf("write a whole number of 1 or more")
		}
		set(c, n)
		return nil
	}
}

func duration(field func(*kube.ControllerConfig) *time.Duration) kubeSetting {
	return func(c *kube.ControllerConfig, value string) error {
		d, err := time.ParseDuration(value)
		if err != nil || d < 0 {
			return fmt.Errorf("write a duration such as 30s, 5m or 2h")
		}
		*field(c) = d
		return nil
	}
}

func kubeNamespacePrefix(c *kube.ControllerConfig, value string) error {
	if err := kube.CheckPrefix(value); err != nil {
		return err
	}
	c.Namespace = value
	return nil
}

func kubeGPUTypes(c *kube.ControllerConfig, value string) error {
	types, err := pod.ParseGPUTypes(value)
	c.GPUTypes = types
	return err
}

func kubePodSecurity(c *kube.ControllerConfig, value string) error {
	if !slices.Contains([]string{pod.LevelRestricted, pod.LevelBaseline, pod.LevelPrivileged}, value) {
		return fmt.Errorf("write restricted, baseline or privileged")
	}
	c.PodSecurity = value
	return nil
}

func kubeDefaults(c *kube.ControllerConfig, value string) error {
	fields, err := pod.ParseFields([]byte(value))
	if err != nil {
		for _, f := range apperr.FieldsOf(err) {
			return fmt.Errorf("%s: %s", f.Path, f.Message)
		}
		return err
	}
	c.Defaults = fields
	return nil
}

func kubeNetworkPolicy(c *kube.ControllerConfig, value string) error {
	switch value {
	case "on":
		c.Network.Open = false
	case "off":
		c.Network.Open = true
	default:
		return fmt.Errorf("write on or off")
	}
	return nil
}

func kubeEgress(c *kube.ControllerConfig, value string) error {
	for part := range strings.SplitSeq(value, ",") {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(part))
		if err != nil {
			return fmt.Errorf("%q is not a CIDR block such as 10.0.0.0/8", part)
		}
		c.Network.Egress = append(c.Network.Egress, prefix.String())
	}
	return nil
}

func kubeServerLabels(c *kube.ControllerConfig, value string) error {
	c.Network.ServerLabels = map[string]string{}
	for part := range strings.SplitSeq(value, ",") {
		name, label, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || name == "" {
			return fmt.Errorf("%q is not name=value", part)
		}
		c.Network.ServerLabels[name] = label
	}
	return nil
}

// kubeImageCommands reads the file with the default commands of images.
func kubeImageCommands(c *kube.ControllerConfig, value string) error {
	data, err := os.ReadFile(value)
	if err != nil {
		return err
	}
	c.ImageCommands, err = image.ParseTable(data)
	return err
}

// kubeRegistryConfig checks the file with the credentials of registries. Each lookup reads the
// file again.
func kubeRegistryConfig(c *kube.ControllerConfig, value string) error {
	c.RegistryConfig = value
	return image.CheckCredentials(value)
}

func kubeInsecureRegistries(c *kube.ControllerConfig, value string) error {
	for part := range strings.SplitSeq(value, ",") {
		host := strings.TrimSpace(part)
		if u, err := url.Parse("//" + host); err != nil || host == "" || u.Host != host {
			return fmt.Errorf("%q is not a host such as registry.example.com:5000", host)
		}
		c.InsecureRegistries = append(c.InsecureRegistries, host)
	}
	return nil
}
