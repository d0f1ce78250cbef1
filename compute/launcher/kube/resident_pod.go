package kube

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

const (
	// labelPool names the pool of a warm pod.
	labelPool = "flowforge.io/pool"
	// residentKey is the key of the pool in the Secret of a warm pod.
	residentKey = "resident.json"
)

// residentSpec is runner.Pool, which the warm pod reads.
type residentSpec struct {
	Pool        string `json:"pool"`
	Worker      string `json:"worker"`
	Token       string `json:"token"`
	APIEndpoint string `json:"api_endpoint"`
	ProjectID   string `json:"project_id"`
	IdleSeconds int    `json:"idle_seconds"`
}

// residentAttempt returns the attempt from which a warm pod is built: the common part of
// all attempts of its pool. It does not belong to an execution and ends when it is idle.
func residentAttempt(p launcher.ResidentPool, name string) (launcher.Attempt, error) {
	attempt, ok := proto.Clone(p.Attempt).(launcher.Attempt)
	if !ok {
		return nil, fmt.Errorf("copy an attempt of the pool %s", p.ID)
	}
	attempt.TaskId, attempt.ExecutionId, attempt.WorkflowId, attempt.Node, attempt.Name = name, "", "", "", ""
	attempt.InputsJson, attempt.Files, attempt.Secrets, attempt.Env, attempt.Work = "", nil, nil, nil, nil
	attempt.Token, attempt.Traceparent, attempt.TimeoutMs, attempt.Pods = "", "", 0, 0
	return attempt, nil
}

// residentName returns a unique name for a pod.
func residentName(pool string) (string, error) {
	random := make([]byte, 5)
	if _, err := rand.Read(random); err != nil {
		return "", fmt.Errorf("name a warm pod: %w", err)
	}
	return "warm-" + pool[:8] + "-" + hex.EncodeToString(random), nil
}

// residentObjects returns the pod and the Secret of another worker of a pool.
func (c *Client) residentObjects(ctx context.Context, p launcher.ResidentPool, idle time.Duration) (launcher.Attempt, *pod.Objects, Project, error) {
	project, err := c.projects.find(ctx, p.ProjectID)
	if err != nil {
		return nil, nil, project, err
	}
	name, err := residentName(p.ID)
	if err != nil {
		return nil, nil, project, err
	}
	attempt, err := residentAttempt(p, name)
	if err != nil {
		return nil, nil, project, err
	}
	options := c.config.PodOptions(project)
	objects, err := pod.Build(attempt, options)
	if err != nil {
		return nil, nil, project, err
	}
	worker := objects.Pods[0]
	content, err := json.Marshal(residentSpec{
		Pool: p.ID, Worker: worker.Name, Token: p.Token, APIEndpoint: attempt.ApiEndpoint,
		ProjectID: p.ProjectID, IdleSeconds: int(idle / time.Second),
	})
	if err != nil {
		return nil, nil, project, fmt.Errorf("write the pool %s: %w", p.ID, err)
	}
	objects.Secret.Data = map[string][]byte{residentKey: content}
	maps.Copy(objects.Secret.Data, options.TaskFiles)
	for _, labels := range []map[string]string{worker.Labels, objects.Secret.Labels} {
		delete(labels, pod.LabelTask)
		labels[pod.LabelResident], labels[labelPool] = "true", p.ID
	}
	makeResident(&worker.Spec, c.config.ResidentEnv)
	return attempt, objects, project, nil
}

// makeResident makes the pod of an attempt run attempts of a pool.
func makeResident(spec *corev1.PodSpec, env map[string]string) {
	spec.ActiveDeadlineSeconds = nil
	for i := range spec.Containers {
		one := &spec.Containers[i]
		if one.Name != pod.Container {
			continue
		}
		one.Command = append(one.Command[:1], "task", "--resident", path.Join(pod.TaskDir, residentKey), "--dir", pod.HomeDir+"/run")
		for _, name := range slices.Sorted(maps.Keys(env)) {
			one.Env = append(one.Env, corev1.EnvVar{Name: name, Value: env[name]})
		}
	}
}

// addResident creates another warm pod of a pool and returns its name.
func (c *Client) addResident(ctx context.Context, p launcher.ResidentPool, idle time.Duration) (string, error) {
	attempt, objects, project, err := c.residentObjects(ctx, p, idle)
	if err != nil {
		return "", err
	}
	name := objects.Pods[0].Name
	attempt.TaskId = "" // an existing object with the name has no task
	err = c.create(ctx, attempt, objects)
	if namespaceMissing(err) && c.prepare != nil {
		if err := c.prepare(ctx, project); err != nil {
			return name, err
		}
		err = c.create(ctx, attempt, objects)
	}
	return name, err
}

// poolOf returns the pool of a warm pod.
func poolOf(p *corev1.Pod) string { return p.Labels[labelPool] }
