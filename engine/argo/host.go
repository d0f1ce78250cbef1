package argo

import (
	"fmt"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/workflow"
)

// Without a cluster, commands are processes of the server's machine. The pod fields of a document
// are emulated or refused there; fields about placement and image pulls have no effect.

const needsCluster = "This server runs tasks as local processes, which have no pods. "

// host returns what a container needs from the machine, and the fields that need a pod.
func (p *pods) host(s *source, c *container, at string) workflow.Host {
	h := &hostReader{at: at}
	h.environment(c)
	h.volumes(p.hostVolumes(s), c)
	h.refuse(len(c.EnvFrom) > 0, at+".envFrom", "Name each variable in env.")
	h.refuse(len(s.InitContainers) > 0, s.path+".initContainers", "Do this work in an earlier task.")
	h.refuse(len(s.Sidecars) > 0, s.path+".sidecars", "Make it a template with daemon: true, which other tasks use.")
	of := p.settingsOf(s)
	for path, settings := range map[string]*podSettings{s.path: &s.podSettings, p.settingsPath(s): of} {
		h.refuse(settings.PodSpecPatch != "", path+".podSpecPatch", "Omit it, or run this workflow in a cluster.")
		h.refuse(len(settings.HostAliases) > 0, path+".hostAliases", "Use addresses in the command instead.")
		h.refuse(len(settings.ResourceClaims) > 0, path+".resourceClaims", "Run this workflow in a cluster.")
	}
	h.refuse(len(c.Resources.Claims) > 0, at+".resources.claims", "Run this workflow in a cluster.")
	return h.host
}

// settingsPath is the path of settingsOf in the document.
func (p *pods) settingsPath(s *source) string {
	if s.library != "" {
		return "status.storedTemplates." + s.library
	}
	return "spec"
}

// hostVolume is a volume that a container may mount.
type hostVolume struct {
	path  string
	empty bool // an emptyDir
}

// hostVolumes are the volumes of a template and of the workflow, by name.
func (p *pods) hostVolumes(s *source) map[string]hostVolume {
	found := map[string]hostVolume{}
	read := func(list []raw, path string) {
		for i, v := range list {
			fields, _ := v.(map[string]any)
			name, _ := fields["name"].(string)
			_, empty := fields["emptyDir"]
			found[name] = hostVolume{fmt.Sprintf("%s[%d]", path, i), empty}
		}
	}
	read(p.settingsOf(s).Volumes, p.settingsPath(s)+".volumes")
	read(s.Volumes, s.path+".volumes")
	for i, v := range p.spec.VolumeClaimTemplates {
		fields, _ := v.(map[string]any)
		meta, _ := fields["metadata"].(map[string]any)
		name, _ := meta["name"].(string)
		found[name] = hostVolume{path: fmt.Sprintf("spec.volumeClaimTemplates[%d]", i)}
	}
	return found
}

type hostReader struct {
	host workflow.Host
	at   string // of the container
}

func (h *hostReader) refuse(given bool, path, advice string) {
	if given {
		h.host.Refused = append(h.host.Refused, apperr.Field{Path: path, Message: needsCluster + advice})
	}
}

// environment reads the variables with valueFrom; only secrets are supported.
func (h *hostReader) environment(c *container) {
	for i, e := range c.Env {
		if e.ValueFrom == nil {
			continue
		}
		path := fmt.Sprintf("%s.env[%d].valueFrom", h.at, i)
		from, _ := e.ValueFrom.(map[string]any)
		ref, _ := from["secretKeyRef"].(map[string]any)
		name, _ := ref["name"].(string)
		key, _ := ref["key"].(string)
		optional, _ := ref["optional"].(bool)
		h.refuse(name == "" || key == "", path, "Set name and key of a secretKeyRef; set other variables with value.")
		if name != "" && key != "" {
			h.host.Secrets = append(h.host.Secrets, workflow.SecretVariable{Name: e.Name, Secret: name + "." + key, Optional: optional, At: path + ".secretKeyRef"})
		}
	}
}

// volumes reads the volume mounts of a container; an emptyDir is an empty folder of the attempt.
func (h *hostReader) volumes(known map[string]hostVolume, c *container) {
	for i, v := range c.VolumeMounts {
		path := fmt.Sprintf("%s.volumeMounts[%d]", h.at, i)
		fields, _ := v.(map[string]any)
		name, _ := fields["name"].(string)
		where, _ := fields["mountPath"].(string)
		volume, found := known[name]
		part := fields["subPath"] != nil || fields["subPathExpr"] != nil
		switch {
		case !found || !volume.empty:
			if found {
				path = volume.path
			}
			h.refuse(true, path, "Only emptyDir volumes are supported; pass files as artifacts.")
		case part || !strings.HasPrefix(where, "/") && !strings.HasPrefix(where, "{{"):
			h.refuse(true, path, "Mount the whole emptyDir at an absolute path.")
		default:
			h.host.Scratch = append(h.host.Scratch, workflow.Scratch{Name: name, Path: where})
		}
	}
}
