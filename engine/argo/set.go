package argo

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/workflow"
)

var setName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// containerSet makes op run several containers in one pod.
func (l *leaves) containerSet(op *workflow.Operator, s *source, own scope) {
	set, at := s.ContainerSet, s.path+".containerSet"
	op.Type, op.CodeAt = workflow.TypeCommand, at+".containers"
	op.Code = workflow.Code{Command: []string{"true"}} // without a main container, the task only waits for the others
	lead := &container{}
	retries, pause := l.pods.setRetries(set.RetryStrategy, at+".retryStrategy")
	for i := range set.Containers {
		m, where := &set.Containers[i], fmt.Sprintf("%s.containers[%d]", at, i)
		m.VolumeMounts = slices.Concat(set.VolumeMounts, m.VolumeMounts)
		var one workflow.Operator
		l.process(&one, &source{template: &template{Name: s.Name, Container: &m.container, Inputs: s.Inputs, Outputs: s.Outputs}, library: s.library, path: s.path}, &m.container, where, own)
		member := workflow.Member{Name: m.Name, Code: one.Code, Environment: one.Environment, After: m.Dependencies, Retries: retries, Pause: pause}
		if m.Name == workflow.MainMember {
			lead, op.Code, op.Resources = &m.container, one.Code, one.Resources // its environment is that of the member
		} else {
			member.Pod = l.pods.memberFields(&m.container, where, own)
		}
		host := l.pods.host(s, &m.container, where)
		op.Host.Scratch = append(op.Host.Scratch, host.Scratch...)
		op.Host.Refused = append(op.Host.Refused, host.Refused...)
		for _, v := range host.Secrets { // the containers are processes of one environment
			op.Host.Refused = append(op.Host.Refused, apperr.Field{Path: v.At, Message: needsCluster + "Read secrets in a separate container or script."})
		}
		op.Members = append(op.Members, member)
	}
	l.pods.checkSet(set, s, at)
	op.Pod = l.pods.pod(s, lead, at, own)
}

// checkSet checks the names and dependencies of the containers of a set.
func (p *pods) checkSet(set *containerSet, s *source, at string) {
	p.refuse(len(set.Containers) == 0, at+".containers", "A container set must have at least one container.")
	after := map[string][]string{}
	for i, m := range set.Containers {
		where := fmt.Sprintf("%s.containers[%d]", at, i)
		p.refuse(!setName.MatchString(m.Name) || m.Name == mainContainer || strings.HasPrefix(m.Name, "flowforge"), where+".name",
			"A container name can have up to 63 lower-case letters, digits and -; task and flowforge are reserved.")
		_, taken := after[m.Name]
		p.refuse(taken, where+".name", "The name %q is already in use.", m.Name)
		after[m.Name] = m.Dependencies
	}
	_, hasMain := after[workflow.MainMember]
	p.refuse(!hasMain && len(s.Outputs.Parameters)+len(s.Outputs.Artifacts)+len(s.Inputs.Artifacts) > 0, at+".containers",
		"Only the container called main can have file inputs and outputs.")
	for i, m := range set.Containers {
		for k, name := range m.Dependencies {
			where := fmt.Sprintf("%s.containers[%d].dependencies[%d]", at, i, k)
			if _, ok := after[name]; !ok {
				p.add(where, "There is no container %q.", name)
			} else if reaches(after, name, m.Name, map[string]bool{}) {
				p.add(where, "%s and %s depend on each other.", m.Name, name)
			}
		}
	}
}

// reaches reports whether from depends on to, directly or not.
func reaches(after map[string][]string, from, to string, seen map[string]bool) bool {
	if from == to {
		return true
	}
	if seen[from] {
		return false
	}
	seen[from] = true
	return slices.ContainsFunc(after[from], func(next string) bool { return reaches(after, next, to, seen) })
}

// memberFields returns the pod fields of a container alongside the main one.
func (p *pods) memberFields(c *container, at string, own scope) json.RawMessage {
	list := p.otherContainers([]container{*c}, &container{}, at, own)
	fields, _ := list[0].(map[string]any)
	for _, name := range []string{"name", "image", "command", "args", "workingDir"} {
		delete(fields, name)
	}
	p.refuse(c.RestartPolicy != nil, at+".restartPolicy", "A container of a set runs once; use its retryStrategy.")
	data, err := json.Marshal(fields)
	if err != nil {
		p.add(at, "The fields of the container cannot be written as JSON.")
	}
	return data
}

// setRetries returns how often a container of a set is retried in its pod, and the pause before
// each retry.
func (p *pods) setRetries(r *setRetry, at string) (int, time.Duration) {
	if r == nil {
		return 0, 0
	}
	n, err := strconv.ParseUint(string(r.Retries), 10, 16)
	p.refuse(err != nil, at+".retries", "This must be a whole number, without tags.")
	return int(n), p.policies.pause(r.Duration, at+".duration")
}
