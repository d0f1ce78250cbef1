package kube

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flowforge/flowforge/compute/launcher"
)

// gangs keeps why the pods of gangs wait: an attempt reports the most severe reason of
// its pods, in any order of evaluation.
type gangs map[types.UID]gangPod

type gangPod struct {
	task, rank string
	started    bool
	waiting    launcher.Waiting
}

// gangOrder lists the reasons, most severe first.
var gangOrder = []string{ //nolint:gochecknoglobals // a constant list
	launcher.WaitCluster, launcher.WaitUnschedulable, launcher.WaitImage, launcher.WaitStarting, launcher.WaitGang,
}

// waiting records why a pod waits and returns why its attempt waits.
func (g gangs) waiting(p *corev1.Pod, rank string, own *launcher.Waiting) *launcher.Waiting {
	if own == nil {
		delete(g, p.UID)
		return nil
	}
	task := taskOf(p)
	g[p.UID] = gangPod{task: task, rank: rank, started: started(p), waiting: *own}
	var worst *gangPod
	for _, one := range g {
		if one.task == task && (worst == nil || one.before(worst)) {
			worst = &one
		}
	}
	if worst.started {
		return &launcher.Waiting{Code: launcher.WaitGang, Message: "The pods of the gang are running and waiting for each other."}
	}
	return &launcher.Waiting{Code: worst.waiting.Code, Message: "Pod " + worst.rank + " of the gang: " + worst.waiting.Message}
}

// before orders pods by the severity of their reasons, then by rank.
func (p *gangPod) before(other *gangPod) bool {
	if p.started != other.started {
		return other.started
	}
	mine, others := slices.Index(gangOrder, p.waiting.Code), slices.Index(gangOrder, other.waiting.Code)
	if mine != others {
		return mine < others
	}
	return p.rank < other.rank
}

func (g gangs) remove(uid types.UID) { delete(g, uid) }
