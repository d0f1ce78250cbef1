package argo

import "cmp"

type template struct {
	Name    string  `json:"name"`
	Inputs  inputs  `json:"inputs"`
	Outputs outputs `json:"outputs"`

	Container *container    `json:"container"`
	Script    *container    `json:"script"`
	Steps     [][]task      `json:"steps"`
	DAG       *dagTemplate  `json:"dag"`
	Suspend   *suspend      `json:"suspend"`
	HTTP      *httpTemplate `json:"http"`

	ContainerSet *containerSet `json:"containerSet"`

	ActiveDeadline *Text          `json:"activeDeadlineSeconds"`
	Timeout        Text           `json:"timeout"`
	RetryStrategy  *retryStrategy `json:"retryStrategy"`
	Parallelism    *int64         `json:"parallelism"`
	FailFast       *bool          `json:"failFast"`
	Metadata       podMetadata    `json:"metadata"`
	InitContainers []container    `json:"initContainers"`
	Sidecars       []container    `json:"sidecars"`

	podSettings `json:",inline"`

	Annotations     map[string]Text  `json:"annotations"` // not used
	Description     Text             `json:"description"` // of a dag_spec, for users
	Resource        raw              `json:"resource" argo:"Call the cluster's API from a task."`
	Data            raw              `json:"data" argo:"List the files in a task, and run over its result with withParam."`
	Plugin          raw              `json:"plugin" argo:"Use a container, a script or http."`
	ArchiveLocation raw              `json:"archiveLocation"` // of logs and files, which are in FlowForge's store
	PodResources    *resources       `json:"podResources"`
	Executor        raw              `json:"executor" argo:"Omit it: the only executor is FlowForge's runner."`
	Priority        raw              `json:"priority" argo:"Kubernetes accepts a priority only as a class: set priorityClassName."`
	Metrics         *metrics         `json:"metrics"`
	Synchronization *synchronization `json:"synchronization"`
	Memoize         *memoize         `json:"memoize"`
	Daemon          *bool            `json:"daemon"`
}

// podSettings are the pod fields of a workflow, for all its pods, and of a template. They have the
// field names of Kubernetes.
type podSettings struct {
	NodeSelector       map[string]Text `json:"nodeSelector"`
	Affinity           raw             `json:"affinity"`
	Tolerations        []raw           `json:"tolerations"`
	SchedulerName      string          `json:"schedulerName"`
	ServiceAccountName string          `json:"serviceAccountName"`
	Automount          *bool           `json:"automountServiceAccountToken"`
	HostAliases        []raw           `json:"hostAliases"`
	SecurityContext    raw             `json:"securityContext"`
	Volumes            []raw           `json:"volumes"`
	PodSpecPatch       string          `json:"podSpecPatch"`
	PriorityClassName  string          `json:"priorityClassName"`    // of a template
	PodPriorityClass   string          `json:"podPriorityClassName"` // of a workflow
	ImagePullSecrets   []raw           `json:"imagePullSecrets"`
	DNSPolicy          string          `json:"dnsPolicy"`
	HostNetwork        *bool           `json:"hostNetwork"`
	ResourceClaims     []raw           `json:"resourceClaims"`
	DNSConfig          raw             `json:"dnsConfig"`
	PodMetadata        podMetadata     `json:"podMetadata"`
}

type podMetadata struct {
	Labels      map[string]Text `json:"labels"`
	Annotations map[string]Text `json:"annotations"`
}

type inputs struct {
	Parameters []parameter `json:"parameters"`
	Artifacts  []artifact  `json:"artifacts"`
}

type outputs struct {
	Parameters []parameter `json:"parameters"`
	Artifacts  []artifact  `json:"artifacts"`
	Result     raw         `json:"result" argo:"Omit it: the task sets it."`
	ExitCode   raw         `json:"exitCode" argo:"Omit it: the task sets it."`
}

// container is also a script, which has a source.
type container struct {
	Name            string    `json:"name"`
	Image           string    `json:"image"`
	Command         []Text    `json:"command"`
	Args            []Text    `json:"args"`
	Source          string    `json:"source"`
	Env             []envVar  `json:"env"`
	EnvFrom         []raw     `json:"envFrom"`
	Resources       resources `json:"resources"`
	VolumeMounts    []raw     `json:"volumeMounts"`
	WorkingDir      string    `json:"workingDir"`
	ImagePullPolicy string    `json:"imagePullPolicy"`
	Ports           []raw     `json:"ports"`
	SecurityContext raw       `json:"securityContext"`

	// Of sidecars and init containers.
	RestartPolicy      raw  `json:"restartPolicy"`
	ReadinessProbe     raw  `json:"readinessProbe"`
	LivenessProbe      raw  `json:"livenessProbe"`
	StartupProbe       raw  `json:"startupProbe"`
	Lifecycle          raw  `json:"lifecycle"`
	MirrorVolumeMounts bool `json:"mirrorVolumeMounts"`

	Stdin         raw `json:"stdin" argo:"Omit it: a task has no standard input."`
	StdinOnce     raw `json:"stdinOnce" argo:"Omit it: a task has no standard input."`
	TTY           raw `json:"tty" argo:"Omit it: a task has no terminal."`
	VolumeDevices raw `json:"volumeDevices" argo:"Use volumeMounts, or podSpecPatch."`
	ResizePolicy  raw `json:"resizePolicy" argo:"Omit it."`

	RestartPolicyRules raw `json:"restartPolicyRules" argo:"Set retryStrategy to control when a task is retried."`

	// The end of the log is the message of a failure.
	TerminationMessagePath   raw `json:"terminationMessagePath"`
	TerminationMessagePolicy raw `json:"terminationMessagePolicy"`
}

// containerSet is a set of containers in one pod.
type containerSet struct {
	Containers    []setMember `json:"containers"`
	VolumeMounts  []raw       `json:"volumeMounts"` // of all of them
	RetryStrategy *setRetry   `json:"retryStrategy"`
}

type setMember struct {
	container    `json:",inline"`
	Dependencies []string `json:"dependencies"`
}

// setRetry is the retry strategy of each container in the pod.
type setRetry struct {
	Duration Text `json:"duration"`
	Retries  Text `json:"retries"`
}

type envVar struct {
	Name      string `json:"name"`
	Value     Text   `json:"value"`
	ValueFrom raw    `json:"valueFrom"`
}

type resources struct {
	Requests map[string]Text `json:"requests"`
	Limits   map[string]Text `json:"limits"`
	Claims   []raw           `json:"claims"`
}

type suspend struct {
	Duration Text `json:"duration"`
}

type httpTemplate struct {
	Method           string       `json:"method"`
	URL              string       `json:"url"`
	Headers          []httpHeader `json:"headers"`
	Body             string       `json:"body"`
	TimeoutSeconds   *int64       `json:"timeoutSeconds"`
	SuccessCondition string       `json:"successCondition"`
	BodyFrom         raw          `json:"bodyFrom" argo:"Write the body as body."`
	Insecure         raw          `json:"insecureSkipVerify" argo:"Omit it: certificates are always verified."`
}

type httpHeader struct {
	Name      string `json:"name"`
	Value     string `json:"value"`
	ValueFrom raw    `json:"valueFrom" argo:"Make the request in a task that reads the secret."`
}

type dagTemplate struct {
	Target   string `json:"target"`
	Tasks    []task `json:"tasks"`
	FailFast *bool  `json:"failFast"`
}

// task is a task of a dag, or a step.
type task struct {
	Name         string           `json:"name"`
	Template     string           `json:"template"`
	TemplateRef  *templateRef     `json:"templateRef"`
	Inline       *template        `json:"inline"`
	Arguments    arguments        `json:"arguments"`
	Description  Text             `json:"description"` // of a dag_spec, for users
	Dependencies []dependency     `json:"dependencies"`
	Depends      string           `json:"depends"`
	When         string           `json:"when"`
	ContinueOn   *continueOn      `json:"continueOn"`
	WithItems    []raw            `json:"withItems"`
	WithParam    string           `json:"withParam"`
	WithSequence *sequence        `json:"withSequence"`
	OnExit       string           `json:"onExit"`
	Hooks        map[string]*hook `json:"hooks"`
}

// loops reports whether the task runs once for each item of a list.
func (t *task) loops() bool { return t.WithItems != nil || t.WithParam != "" || t.WithSequence != nil }

// dependency is a task that another one waits for: its name or, in a dag_spec, an object with a
// type, the required end of the task.
type dependency struct {
	Task      string `json:"task"`
	Name      string `json:"name"`       // the same
	DependsOn string `json:"depends_on"` // the same
	Type      string `json:"type"`       // success (the default), completion or failure
}

func (d dependency) task() string { return cmp.Or(d.Task, d.Name, d.DependsOn) }

type continueOn struct {
	Error  bool `json:"error"`
	Failed bool `json:"failed"`
}

type sequence struct {
	Count  *Text  `json:"count"`
	Start  *Text  `json:"start"`
	End    *Text  `json:"end"`
	Format string `json:"format"`
}
