package pod

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// MasterPort is the port of the first pod of a gang, as in torch.distributed.
const MasterPort = 29500

// JobSets, as the dynamic client names them.
const (
	JobSetGroup    = "jobset.x-k8s.io"
	JobSetVersion  = "v1alpha2"
	JobSetResource = "jobsets"

	// jobName is short: the names of pods contain it and must stay below 64 characters.
	jobName = "w"

	jobSetLife = 24 * time.Hour // of an ended JobSet
)

// gang builds the pods of an attempt that runs in several.
func (b *builder) gang(objects *Objects) error {
	if b.o.JobSet {
		jobSet, err := b.jobSet()
		objects.JobSet = jobSet
		return err
	}
	for rank := range Gang(b.spec) {
		pod, err := b.pod(RankName(b.name, rank), func(pod *corev1.Pod) {
			number := strconv.Itoa(rank)
			pod.Labels[LabelRank] = number
			pod.Spec.Hostname, pod.Spec.Subdomain = "rank-"+number, b.name
			master := fmt.Sprintf("rank-0.%s.%s.svc", b.name, b.o.Namespace)
			task := &pod.Spec.Containers[0]
			task.Env = append(task.Env, b.gangEnv(corev1.EnvVar{Value: number}, master)...)
		})
		if err != nil {
			return err
		}
		objects.Pods = append(objects.Pods, pod)
	}
	objects.Service = b.service()
	return nil
}

// service gives the pods of a gang DNS names before they are ready.
func (b *builder) service() *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Name: b.name, Namespace: b.o.Namespace, Labels: labels(b.spec, b.o)},
		Spec: corev1.ServiceSpec{
			ClusterIP:                corev1.ClusterIPNone,
			PublishNotReadyAddresses: true,
			Selector:                 map[string]string{LabelTask: b.spec.GetTaskId()},
			Ports:                    []corev1.ServicePort{{Name: "master", Port: MasterPort, Protocol: corev1.ProtocolTCP}},
		},
	}
}

// jobSet returns a JobSet of one indexed Job. It never retries anything: that is up to
// the operator's retry policy.
func (b *builder) jobSet() (*unstructured.Unstructured, error) {
	pod, err := b.pod("", func(pod *corev1.Pod) {
		index := fromField("", "metadata.annotations['batch.kubernetes.io/job-completion-index']")
		master := fmt.Sprintf("%s-%s-0-0.%s", b.name, jobName, b.name)
		task := &pod.Spec.Containers[0]
		task.Env = append(task.Env, b.gangEnv(index, master)...)
	})
	if err != nil {
		return nil, err
	}
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&pod.Spec)
	if err != nil {
		return nil, fmt.Errorf("write the gang's pod: %w", err)
	}
	pods := int64(Gang(b.spec))
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": JobSetGroup + "/" + JobSetVersion,
		"kind":       "JobSet",
		"metadata":   map[string]any{"name": b.name, "namespace": b.o.Namespace, "labels": anyMap(labels(b.spec, b.o))},
		"spec": map[string]any{
			"failurePolicy": map[string]any{"maxRestarts": int64(0)},
			// The controller removes the JobSet at the attempt's end; this is the
			// fallback.
			"ttlSecondsAfterFinished": int64(jobSetLife / time.Second),
			"network":                 map[string]any{"enableDNSHostnames": true, "publishNotReadyAddresses": true, "subdomain": b.name},
			"replicatedJobs": []any{map[string]any{
				"name":     jobName,
				"replicas": int64(1),
				"template": map[string]any{"spec": map[string]any{
					"completionMode": "Indexed", "completions": pods, "parallelism": pods, "backoffLimit": int64(0),
					"template": map[string]any{
						"metadata": map[string]any{"labels": anyMap(pod.Labels), "annotations": anyMap(pod.Annotations)},
						"spec":     spec,
					},
				}},
			}},
		},
	}}
	return object, nil
}

func anyMap(values map[string]string) map[string]any {
	all := make(map[string]any, len(values))
	for name, value := range values {
		all[name] = value
	}
	return all
}
