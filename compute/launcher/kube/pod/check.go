package pod

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/flowforge/flowforge/apperr"
)

// checker collects the problems of fields.
type checker struct {
	fields *Fields
	wrong  []apperr.Field
	names  map[string]bool // of containers
}

// check returns the problems of fields beyond their types. The cluster's admission has
// the final decision; these are mistakes that can be reported immediately.
func check(f *Fields) []apperr.Field {
	c := &checker{fields: f, names: map[string]bool{}}
	c.labels("labels", f.Labels, true)
	c.labels("annotations", f.Annotations, false)
	c.labels("nodeSelector", f.NodeSelector, true)
	c.subdomain("priorityClassName", f.PriorityClassName)
	c.subdomain("serviceAccountName", f.ServiceAccountName)
	c.choice("imagePullPolicy", string(f.ImagePullPolicy), corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
	c.tolerations()
	c.containers("initContainers", f.InitContainers)
	c.containers("sidecars", f.Sidecars)
	c.containers("members", f.Members)
	c.volumes()
	c.shared()
	c.imageCommands()
	c.mounts("volumeMounts", f.VolumeMounts)
	c.positive("activeDeadlineSeconds", f.ActiveDeadlineSeconds, 1)
	c.positive("terminationGracePeriodSeconds", f.TerminationGracePeriodSeconds, 0)
	for i, s := range f.ImagePullSecrets {
		if s.Name == "" {
			c.add(fmt.Sprintf("imagePullSecrets[%d].name", i), "The name of the Secret is missing.")
		}
	}
	if f.ShmSize != nil && f.ShmSize.Sign() <= 0 {
		c.add("shmSize", "The size must be more than 0, such as 2Gi.")
	}
	if f.PodSpecPatch != "" {
		_, wrong := parsePatch(f.PodSpecPatch)
		c.wrong = append(c.wrong, wrong...)
	}
	return c.wrong
}

func (c *checker) add(path, format string, args ...any) {
	c.wrong = append(c.wrong, apperr.Field{Path: path, Message: fmt.Sprintf(format, args...)})
}

func (c *checker) labels(field string, values map[string]string, strict bool) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		at := fmt.Sprintf("%s[%s]", field, name)
		for _, message := range validation.IsQualifiedName(name) {
			c.add(at, "%s", message)
		}
		if strict {
			for _, message := range validation.IsValidLabelValue(values[name]) {
				c.add(at, "%s", message)
			}
		}
		own := strings.HasPrefix(name, labelPrefix) || name == LabelManagedBy
		if own && field != "nodeSelector" {
			c.add(at, "Names that begin with %s are reserved for FlowForge.", labelPrefix)
		}
	}
}

func (c *checker) subdomain(field, value string) {
	if value == "" {
		return
	}
	for _, message := range validation.IsDNS1123Subdomain(value) {
		c.add(field, "%s", message)
	}
}

func (c *checker) choice(field, value string, choices ...corev1.PullPolicy) {
	if value != "" && !slices.Contains(choices, corev1.PullPolicy(value)) {
		c.add(field, "%q is not one of %v.", value, choices)
	}
}

func (c *checker) tolerations() {
	for i, t := range c.fields.Tolerations {
		at := fmt.Sprintf("tolerations[%d]", i)
		if !slices.Contains([]corev1.TolerationOperator{"", corev1.TolerationOpEqual, corev1.TolerationOpExists}, t.Operator) {
			c.add(at+".operator", "%q is not one of Equal, Exists.", t.Operator)
		}
		if !slices.Contains([]corev1.TaintEffect{"", corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}, t.Effect) {
			c.add(at+".effect", "%q is not one of NoSchedule, PreferNoSchedule, NoExecute.", t.Effect)
		}
	}
}

func (c *checker) positive(field string, value *int64, least int64) {
	if value != nil && *value < least {
		c.add(field, "The value must be %d or more.", least)
	}
}

func (c *checker) containers(field string, list []corev1.Container) {
	for i, container := range list {
		at := fmt.Sprintf("%s[%d]", field, i)
		for _, message := range validation.IsDNS1123Label(container.Name) {
			c.add(at+".name", "%s", message)
		}
		switch {
		case container.Name == Container || container.Name == InitContainer || container.Name == setVolume:
			c.add(at+".name", "%q is the name of a container of FlowForge.", container.Name)
		case c.names[container.Name]:
			c.add(at+".name", "Another container is already named %q.", container.Name)
		}
		c.names[container.Name] = true
		if container.Image == "" {
			c.add(at+".image", "The image is missing.")
		}
		if field == "sidecars" && container.RestartPolicy != nil && *container.RestartPolicy != corev1.ContainerRestartPolicyAlways {
			c.add(at+".restartPolicy", "A sidecar runs next to the task: omit this field or set it to Always.")
		}
		c.mounts(at+".volumeMounts", container.VolumeMounts)
	}
}

func (c *checker) volumes() {
	seen := map[string]bool{}
	for i, volume := range c.fields.Volumes {
		at := fmt.Sprintf("volumes[%d].name", i)
		for _, message := range validation.IsDNS1123Label(volume.Name) {
			c.add(at, "%s", message)
		}
		switch {
		case reservedVolume(volume.Name):
			c.add(at, "Names of volumes that begin with flowforge are reserved for FlowForge.")
		case seen[volume.Name]:
			c.add(at, "Another volume is already named %q.", volume.Name)
		}
		seen[volume.Name] = true
	}
}

func (c *checker) mounts(field string, mounts []corev1.VolumeMount) {
	for i, mount := range mounts {
		at := fmt.Sprintf("%s[%d]", field, i)
		switch target := path.Clean("/" + mount.MountPath); {
		case mount.MountPath == "":
			c.add(at+".mountPath", "The path is missing.")
		case target == HomeDir, target == SetDir, target == TaskDir, target == PrivateDir, strings.HasPrefix(target, HomeDir+"/"):
			c.add(at+".mountPath", "%s is a folder of FlowForge.", target)
		}
		// FlowForge's volumes hold the attempt's token, so only its container may mount
		// them.
		if reservedVolume(mount.Name) {
			c.add(at+".name", "The volume %q is reserved for FlowForge.", mount.Name)
		}
	}
}

func reservedVolume(name string) bool {
	return name == homeVolume || strings.HasPrefix(name, homeVolume+"-")
}
