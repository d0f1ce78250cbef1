package kube

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flowforge/flowforge/compute/launcher"
)

// gangs keep what the pods of gangs wait for: an attempt waits for what holds up its
// pods most, whichever of them was looked at last.
type gangs map[types.UID]gangPod

type gangPod struct {
	task, rank string
	begun      bool
	waiting    launcher.Waiting
}

// gangOrder has what holds a gang up most first.
var gangOrder = []string{ //nolint:gochecknoglobals // a constant list
	launcher.WaitCluster, launcher.WaitUnschedulable, launcher.WaitImage, launcher.WaitStarting, launcher.WaitGang,
}

// waiting takes what a pod waits for and returns what its attempt does.
func (g gangs) waiting(p *corev1.Pod, rank string, own *launcher.Waiting) *launcher.Waiting {
	if own == nil {
		delete(g, p.UID)
		return nil
	}
	task := taskOf(p)
	g[p.UID] = gangPod{task: task, rank: rank, begun: begun(p), waiting: *own}
	var worst *gangPod
	for _, one := range g {
		if one.task == task && (worst == nil || one.before(worst)) {
			worst = &one
		}
	}
	if worst.begun {
		return &launcher.Waiting{Code: launcher.WaitGang, Message: "Pods of the gang run and wait for each other."}
	}
	return &launcher.Waiting{Code: worst.waiting.Code, Message: "Pod " + worst.rank + " of the gang: " + worst.waiting.Message}
}

// before orders pods by how much they hold up their gang, and those that do alike by rank.
func (p *gangPod) before(other *gangPod) bool {
	if p.begun != other.begun {
		return other.begun
	}
	mine, others := slices.Index(gangOrder, p.waiting.Code), slices.Index(gangOrder, other.waiting.Code)
	if mine != others {
		return mine < others
	}
	return p.rank < other.rank
}

func (g gangs) forget(uid types.UID) { delete(g, uid) }
