package pod

import (
	"fmt"
	"strconv"
	"strings"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// Labels of everything that belongs to an attempt.
const (
	LabelManagedBy    = "app.kubernetes.io/managed-by"
	LabelInstallation = "flowforge.io/installation"
	LabelTenant       = "flowforge.io/tenant-id"
	LabelProject      = "flowforge.io/project-id"
	LabelWorkflow     = "flowforge.io/workflow-id"
	LabelExecution    = "flowforge.io/execution-id"
	LabelTask         = "flowforge.io/task-id"
	LabelNode         = "flowforge.io/node"
	LabelGang         = "flowforge.io/gang"   // "true" on the pods of a gang
	LabelServes       = "flowforge.io/serves" // "true" on pods that others use once they are ready
	LabelRank         = "flowforge.io/rank"
	LabelResident     = "flowforge.io/resident" // "true" on pods that are kept warm
	LabelClaimGC      = "flowforge.io/claim-gc" // on claims of executions: one of the GC constants

	// ManagedBy is the value of LabelManagedBy.
	ManagedBy = "flowforge"

	// AnnotationNode holds the operator's full name; the label may be truncated.
	AnnotationNode = "flowforge.io/node"
	// AnnotationTraceparent holds the W3C trace context of the attempt.
	AnnotationTraceparent = "flowforge.io/traceparent"

	labelPrefix = "flowforge.io/"
)

// Names inside a pod.
const (
	Container     = "task"      // runs the attempt
	InitContainer = "flowforge" // copies the program into the pod

	// ServiceAccount is the default account of pods; it has no permissions.
	ServiceAccount = "flowforge-task"

	// HomeDir contains the program, the SDK and the attempt's files.
	HomeDir = "/flowforge"
	// TaskDir holds the attempt's Secret, in memory.
	TaskDir = "/flowforge-task"
	// SetDir is shared by the containers of an attempt that has several; it contains the
	// program.
	SetDir = "/flowforge-set"
	// PrivateDir is in memory: values of secrets are written only here.
	PrivateDir = "/flowforge-private"

	homeVolume    = "flowforge"
	setVolume     = "flowforge-set"
	taskVolume    = "flowforge-task"
	privateVolume = "flowforge-private"
	shmVolume     = "flowforge-shm"

	specKey     = "spec.json"
	specGzipKey = "spec.json.gz"

	maxLabel = 63
)

// Name returns the name of the objects of attempt taskID ("<execution>.<node>.<attempt>")
// in its namespace: of its pod and its Secret.
func Name(taskID string) string {
	return "ff-" + strings.ReplaceAll(taskID, ".", "-")
}

// RankName returns the name of one pod of a gang.
func RankName(name string, rank int) string {
	return name + "-" + strconv.Itoa(rank)
}

// Gang returns how many pods run the attempt.
func Gang(spec *flowforgev1.AttemptSpec) int {
	return max(1, int(spec.GetPods()))
}

// Selector selects everything that an installation made.
func Selector(installation string) string {
	return fmt.Sprintf("%s=%s,%s=%s", LabelManagedBy, ManagedBy, LabelInstallation, installation)
}

// labels returns the labels of every object of an attempt.
func labels(spec *flowforgev1.AttemptSpec, o Options) map[string]string {
	all := map[string]string{
		LabelManagedBy:    ManagedBy,
		LabelInstallation: o.Installation,
		LabelTenant:       spec.GetTenantId(),
		LabelProject:      spec.GetProjectId(),
		LabelWorkflow:     spec.GetWorkflowId(),
		LabelExecution:    spec.GetExecutionId(),
		LabelTask:         spec.GetTaskId(),
		LabelNode:         labelValue(spec.GetNode()),
	}
	for name, value := range all {
		if value == "" {
			delete(all, name)
		}
	}
	if Gang(spec) > 1 {
		all[LabelGang] = "true"
	}
	if spec.GetServes() {
		all[LabelServes] = "true"
	}
	return all
}

// labelValue removes the characters of text that a label value cannot contain.
func labelValue(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
	}
	value := b.String()
	return strings.Trim(value[:min(len(value), maxLabel)], "-_.")
}
