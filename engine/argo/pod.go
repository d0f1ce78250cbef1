package argo

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/engine/workflow"
)

// mainContainer is how FlowForge's pods name the container of the command (see
// Container of package launcher/kube/pod).
const mainContainer = "task"

// pod returns the pod fields of the workflow, the template and its container, in the form that the
// launcher reads.
func (p *pods) pod(s *source, c *container, at string, own scope) json.RawMessage {
	fields := map[string]any{}
	of := p.settingsOf(s)
	of.write(fields)
	s.podSettings.write(fields)
	merge(fields, "labels", s.Metadata.Labels)
	merge(fields, "annotations", s.Metadata.Annotations)
	put(fields, "volumeMounts", c.VolumeMounts)
	put(fields, "envFrom", c.EnvFrom)
	put(fields, "ports", c.Ports)
	if c.ImagePullPolicy != "" {
		fields["imagePullPolicy"] = c.ImagePullPolicy
	}
	if c.SecurityContext != nil {
		fields["containerSecurityContext"] = c.SecurityContext
	}
	put(fields, "containerClaims", c.Resources.Claims)
	p.shared(fields)
	put(fields, "initContainers", p.otherContainers(s.InitContainers, c, s.path+".initContainers", own))
	put(fields, "sidecars", p.otherContainers(s.Sidecars, c, s.path+".sidecars", own))
	if patch := p.environmentPatch(c, at); patch != "" {
		p.refuse(fields["podSpecPatch"] != nil, at+".env", "valueFrom cannot be combined with podSpecPatch; set the variables in the patch.")
		fields["podSpecPatch"] = patch
	}
	p.refuse(c.RestartPolicy != nil || c.LivenessProbe != nil || c.StartupProbe != nil || c.Lifecycle != nil, at,
		"restartPolicy, lifecycle and liveness and startup probes are for sidecars and init containers; omit them.")
	if c.ReadinessProbe != nil {
		fields["readinessProbe"] = c.ReadinessProbe
	}
	p.refuse(c.MirrorVolumeMounts, at+".mirrorVolumeMounts", "This is for sidecars and init containers; omit it.")
	p.checks.checkValue(fields, own, s.path)
	if len(fields) == 0 {
		return nil
	}
	data, err := json.Marshal(withoutNulls(fields))
	if err != nil {
		p.add(at, "The fields of the pod cannot be written as JSON.")
	}
	return data
}

// withoutNulls removes the null fields that some clients write for every field that they know.
func withoutNulls(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = withoutNulls(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			if e != nil {
				out[k] = withoutNulls(e)
			}
		}
		return out
	}
	return v
}

// shared writes the fields that all pods of an execution share.
func (p *pods) shared(fields map[string]any) {
	put(fields, "volumeClaimTemplates", p.spec.VolumeClaimTemplates)
	if p.spec.VolumeClaimGC != nil && p.spec.VolumeClaimGC.Strategy != "" && len(p.spec.VolumeClaimTemplates) > 0 {
		fields["volumeClaimGC"] = p.spec.VolumeClaimGC.Strategy
	}
	if p.spec.PodDisruptionBudget != nil {
		fields["podDisruptionBudget"] = p.spec.PodDisruptionBudget
	}
}

// settingsOf returns the pod settings of the document that contains the template.
func (p *pods) settingsOf(s *source) *podSettings {
	if l := p.libraries[s.library]; s.library != "" && l != nil {
		return &l.spec.podSettings
	}
	return &p.spec.podSettings
}

// write adds the settings to the fields of a pod. It appends to lists and replaces other values.
func (p *podSettings) write(fields map[string]any) {
	merge(fields, "nodeSelector", p.NodeSelector)
	merge(fields, "labels", p.PodMetadata.Labels)
	merge(fields, "annotations", p.PodMetadata.Annotations)
	for name, v := range map[string]any{"affinity": p.Affinity, "securityContext": p.SecurityContext, "dnsConfig": p.DNSConfig} {
		if v != nil {
			fields[name] = v
		}
	}
	for name, v := range map[string]string{
		"schedulerName": p.SchedulerName, "serviceAccountName": p.ServiceAccountName, "podSpecPatch": p.PodSpecPatch, "dnsPolicy": p.DNSPolicy,
	} {
		if v != "" {
			fields[name] = v
		}
	}
	if class := p.PriorityClassName + p.PodPriorityClass; class != "" {
		fields["priorityClassName"] = class
	}
	if p.Automount != nil {
		fields["automountServiceAccountToken"] = *p.Automount
	}
	if p.HostNetwork != nil {
		fields["hostNetwork"] = *p.HostNetwork
	}
	put(fields, "resourceClaims", p.ResourceClaims)
	put(fields, "tolerations", p.Tolerations)
	put(fields, "hostAliases", p.HostAliases)
	put(fields, "volumes", p.Volumes)
	put(fields, "imagePullSecrets", p.ImagePullSecrets)
}

func put(fields map[string]any, name string, list []any) {
	if len(list) == 0 {
		return
	}
	before, _ := fields[name].([]any)
	fields[name] = slices.Concat(before, list)
}

func merge(fields map[string]any, name string, more map[string]Text) {
	if len(more) == 0 {
		return
	}
	all, _ := fields[name].(map[string]any)
	if all == nil {
		all = map[string]any{}
	}
	for k, v := range more {
		all[k] = string(v)
	}
	fields[name] = all
}

// otherContainers returns the containers alongside that of the command, with the field names of
// Kubernetes.
func (p *pods) otherContainers(list []container, main *container, at string, own scope) []any {
	var out []any
	for i, c := range list {
		where := fmt.Sprintf("%s[%d]", at, i)
		o := map[string]any{"name": c.Name, "image": c.Image}
		p.refuse(c.Name == "", where+".name", "It must have a name.")
		p.refuse(c.Source != "", where+".source", "Only a script has a source.")
		if c.MirrorVolumeMounts {
			c.VolumeMounts = slices.Concat(main.VolumeMounts, c.VolumeMounts)
		}
		for name, v := range map[string]any{
			"securityContext": c.SecurityContext, "restartPolicy": c.RestartPolicy, "readinessProbe": c.ReadinessProbe,
			"livenessProbe": c.LivenessProbe, "startupProbe": c.StartupProbe, "lifecycle": c.Lifecycle,
		} {
			if v != nil {
				o[name] = v
			}
		}
		put(o, "command", anyTexts(c.Command))
		put(o, "args", anyTexts(c.Args))
		put(o, "volumeMounts", c.VolumeMounts)
		put(o, "envFrom", c.EnvFrom)
		put(o, "ports", c.Ports)
		put(o, "env", environment(c.Env))
		if c.WorkingDir != "" {
			o["workingDir"] = c.WorkingDir
		}
		if c.ImagePullPolicy != "" {
			o["imagePullPolicy"] = c.ImagePullPolicy
		}
		amounts := map[string]any{}
		merge(amounts, "requests", c.Resources.Requests)
		merge(amounts, "limits", c.Resources.Limits)
		put(amounts, "claims", c.Resources.Claims)
		if len(amounts) > 0 {
			o["resources"] = amounts
		}
		p.checks.checkValue(o, own, where)
		out = append(out, o)
	}
	return out
}

func anyTexts(list []Text) []any {
	out := make([]any, len(list))
	for i, text := range list {
		out[i] = string(text)
	}
	return out
}

func environment(list []envVar) []any {
	var out []any
	for _, e := range list {
		v := map[string]any{"name": e.Name}
		if e.ValueFrom != nil {
			v["valueFrom"] = e.ValueFrom
		} else {
			v["value"] = string(e.Value)
		}
		out = append(out, v)
	}
	return out
}

// environmentPatch returns a pod patch with the variables whose values the cluster provides.
func (p *pods) environmentPatch(c *container, at string) string {
	var list []envVar
	for i, e := range c.Env {
		if e.ValueFrom == nil {
			continue
		}
		if _, ok := e.ValueFrom.(map[string]any); !ok {
			p.add(fmt.Sprintf("%s.env[%d].valueFrom", at, i), "This must be a mapping.")
			continue
		}
		list = append(list, e)
	}
	if len(list) == 0 {
		return ""
	}
	patch, err := json.Marshal(map[string]any{"containers": []any{map[string]any{"name": mainContainer, "env": environment(list)}}})
	if err != nil {
		p.add(at+".env", "The variables cannot be written as JSON.")
	}
	return string(patch)
}

// resources returns the requests of a container. podResources become requests of the container,
// because quotas count only that one.
func (p *pods) resources(s *source, c *container, at string) workflow.Resources {
	out := p.amounts(c.Resources, at+".resources")
	whole, path := s.PodResources, s.path+".podResources"
	if whole == nil && s.library == "" {
		whole, path = p.spec.PodResources, "spec.podResources"
	}
	if whole == nil {
		return out
	}
	p.refuse(len(whole.Claims) > 0, path+".claims", "Set the claims on the container.")
	of := p.amounts(*whole, path)
	out.CPUMillis, out.MemoryMiB = max(out.CPUMillis, of.CPUMillis), max(out.MemoryMiB, of.MemoryMiB)
	out.StorageMiB, out.GPUs = max(out.StorageMiB, of.StorageMiB), max(out.GPUs, of.GPUs)
	return out
}

// amounts returns the resources of a container: its requests, or else its limits. Of memory it is
// the larger one, because the request of a pod of FlowForge is also its limit.
func (p *pods) amounts(r resources, at string) workflow.Resources {
	var out workflow.Resources
	read := func(kind string, of map[string]Text) {
		for _, name := range slices.Sorted(maps.Keys(of)) {
			where := at + "." + kind + "." + name
			n, ok := quantity(string(of[name]))
			p.refuse(!ok, where, "This must be an amount such as 500m, 2 or 1Gi, without tags.")
			switch name {
			case "cpu":
				if kind == "requests" || out.CPUMillis == 0 {
					out.CPUMillis = int(math.Ceil(n * 1000))
				}
			case "memory":
				out.MemoryMiB = max(out.MemoryMiB, int(math.Ceil(n/(1<<20))))
			case "ephemeral-storage":
				out.StorageMiB = max(out.StorageMiB, int(math.Ceil(n/(1<<20))))
			case "nvidia.com/gpu":
				out.GPUs = max(out.GPUs, int(n))
			default:
				p.add(where, "FlowForge counts cpu, memory, ephemeral-storage and nvidia.com/gpu; write other resources in podSpecPatch.")
			}
		}
	}
	read("requests", r.Requests)
	read("limits", r.Limits)
	return out
}

// quantity reads an amount as Kubernetes writes it.
func quantity(text string) (float64, bool) {
	factors := map[string]float64{
		"m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
		"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50,
	}
	number := strings.TrimRight(text, "mkMGTPKi")
	factor, ok := factors[text[len(number):]]
	if text == number {
		factor, ok = 1, true
	}
	n, err := strconv.ParseFloat(number, 64)
	return n * factor, ok && err == nil && n >= 0 && n*factor < 1e18
}
