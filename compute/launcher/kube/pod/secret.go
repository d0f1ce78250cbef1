package pod

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/platform/units"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

const (
	gzipAbove = 64 << 10 // larger specs are compressed
	// maxSecret is the maximum size of a Secret in Kubernetes.
	maxSecret = corev1.MaxSecretSize
)

// secret returns the Secret of the attempt and the key of its spec. The spec omits the
// pod fields.
func (b *builder) secret() (*corev1.Secret, string, error) {
	key, data, err := encodeSpec(b.spec)
	if err != nil {
		return nil, "", err
	}
	size := len(data)
	for _, file := range b.o.TaskFiles {
		size += len(file)
	}
	if size > maxSecret {
		return nil, "", apperr.New(apperr.Invalid, "The task's inputs total %s, more than the %s that a Kubernetes Secret can hold. Pass large values as artifacts.", units.Bytes(int64(size)), units.Bytes(maxSecret))
	}
	content := maps.Clone(b.o.TaskFiles)
	if content == nil {
		content = map[string][]byte{}
	}
	content[key] = data
	yes := true
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: b.name, Namespace: b.o.Namespace, Labels: labels(b.spec, b.o)},
		Immutable:  &yes,
		Type:       corev1.SecretTypeOpaque,
		Data:       content,
	}, key, nil
}

// encodeSpec encodes the spec for `flowforge task --spec`.
func encodeSpec(spec *flowforgev1.AttemptSpec) (key string, data []byte, err error) {
	inside, ok := proto.Clone(spec).(*flowforgev1.AttemptSpec)
	if !ok {
		return "", nil, fmt.Errorf("copy the attempt %s", spec.GetTaskId())
	}
	inside.PodJson = ""
	loose, err := protojson.Marshal(inside)
	if err != nil {
		return "", nil, fmt.Errorf("write the attempt %s: %w", spec.GetTaskId(), err)
	}
	// protojson adds random spaces; the same attempt must give the same bytes.
	var compact bytes.Buffer
	if err := json.Compact(&compact, loose); err != nil {
		return "", nil, fmt.Errorf("write the attempt %s: %w", spec.GetTaskId(), err)
	}
	if compact.Len() <= gzipAbove {
		return specKey, compact.Bytes(), nil
	}
	var small bytes.Buffer
	w := gzip.NewWriter(&small)
	if _, err := w.Write(compact.Bytes()); err != nil {
		return "", nil, fmt.Errorf("compress the attempt %s: %w", spec.GetTaskId(), err)
	}
	if err := w.Close(); err != nil {
		return "", nil, fmt.Errorf("compress the attempt %s: %w", spec.GetTaskId(), err)
	}
	return specGzipKey, small.Bytes(), nil
}
