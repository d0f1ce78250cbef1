package execution

import (
	"slices"
	"strings"
	"time"

	"github.com/flowforge/flowforge/engine/execution/stored"
	"github.com/flowforge/flowforge/engine/workflow"
)

// membersDir is the shared folder of the containers of an attempt with several; see SetDir
// of package launcher/kube/pod.
const membersDir = "/flowforge-set"

// memberWire and membersWire are the input of `flowforge members` (see package runner).
type memberWire struct {
	Name    string            `json:"name"`
	After   []string          `json:"after,omitempty"`
	Command []string          `json:"command"`
	Image   bool              `json:"image,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Order   []string          `json:"order"`
	Folder  string            `json:"folder,omitempty"`
	Retries int               `json:"retries,omitempty"`
	Pause   time.Duration     `json:"pause,omitempty"`
}

type membersWire struct {
	Dir  string       `json:"dir"`
	Run  []memberWire `json:"run"`
	All  []string     `json:"all,omitempty"`
	Main string       `json:"main,omitempty"`
	Lead bool         `json:"lead,omitempty"`
}

// membersCommand is the command of the leading member: in a cluster it runs the main member,
// elsewhere all members.
func membersCommand(op *workflow.Operator, cluster bool) []string {
	wire := membersWire{Main: workflow.MainMember, Lead: true, Run: []memberWire{}}
	if cluster {
		wire.Dir = membersDir
	}
	for _, m := range op.Members {
		wire.All = append(wire.All, m.Name)
		if !cluster || m.Name == workflow.MainMember {
			wire.Run = append(wire.Run, wireMember(m, !cluster))
		}
	}
	return []string{"flowforge", "members", string(mustJSON(wire))}
}

// wireMember is a member as its process reads it. In a pod its container already has the
// environment and the folder.
func wireMember(m workflow.Member, process bool) memberWire {
	wire := memberWire{Name: m.Name, After: m.After, Command: slices.Concat(m.Code.Command, m.Code.Args), Image: m.Code.OfImage(), Order: m.Code.Variables, Retries: m.Retries, Pause: m.Pause}
	if process || m.Name == workflow.MainMember {
		wire.Env, wire.Folder = m.Environment, m.Code.Folder
	}
	return wire
}

// taskContainer runs the attempt in its pod, or the main member of several; see Container of
// package launcher/kube/pod.
const taskContainer = "task"

// imageCommands returns the containers of an attempt that run the default command of their
// image, and whether they add arguments.
func imageCommands(op *workflow.Operator) map[string]bool {
	silent := map[string]bool{}
	note := func(name string, code workflow.Code) {
		if code.OfImage() {
			silent[name] = len(code.Args) > 0
		}
	}
	if len(op.Members) == 0 {
		note(taskContainer, op.Code)
	}
	for _, m := range op.Members {
		if m.Name == workflow.MainMember {
			m.Name = taskContainer
		}
		note(m.Name, m.Code)
	}
	return silent
}

// podMembers returns the containers besides the container of the main member. Kubernetes
// expands $(NAME) in their commands, and $$ to one $; the member itself does so in its own.
func podMembers(op *workflow.Operator) []any {
	var list []any
	for _, m := range op.Members {
		if m.Name == workflow.MainMember {
			continue
		}
		container := stored.Object(m.Pod)
		if container == nil {
			container = map[string]any{}
		}
		container["name"], container["image"] = m.Name, m.Code.Image
		members := string(mustJSON(membersWire{Dir: membersDir, Run: []memberWire{wireMember(m, false)}}))
		container["command"] = []string{membersDir + "/flowforge", "members", strings.ReplaceAll(members, "$", "$$")}
		if m.Code.Folder != "" {
			container["workingDir"] = m.Code.Folder
		}
		list = append(list, container)
	}
	return list
}

// members returns the members with their tags replaced.
func (w *writer) members(list []workflow.Member) []workflow.Member {
	out := make([]workflow.Member, len(list))
	for i, m := range list {
		m.Code.Command, m.Code.Args = w.texts(m.Code.Command), w.texts(m.Code.Args)
		m.Code.Image, m.Code.Folder = w.text(m.Code.Image), w.text(m.Code.Folder)
		m.Environment, m.Pod = w.mapping(m.Environment), w.json(m.Pod)
		out[i] = m
	}
	return out
}
