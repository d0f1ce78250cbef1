package argo

// The types have the field names of argoproj.io/v1alpha1. A field with the tag argo is not
// supported; the tag is the advice in its error. Fields of type raw are passed on to Kubernetes.

// document is one file, whatever its kind.
type document struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       raw      `json:"spec"`
	Status     raw      `json:"status"`
}

type metadata struct {
	Name         string          `json:"name"`
	GenerateName string          `json:"generateName"`
	Namespace    string          `json:"namespace"`
	Labels       map[string]Text `json:"labels"`
	Annotations  map[string]Text `json:"annotations"`

	// The cluster adds these fields; they do not describe the workflow.
	UID               raw `json:"uid"`
	ResourceVersion   raw `json:"resourceVersion"`
	Generation        raw `json:"generation"`
	CreationTimestamp raw `json:"creationTimestamp"`
	ManagedFields     raw `json:"managedFields"`
	SelfLink          raw `json:"selfLink"`
	OwnerReferences   raw `json:"ownerReferences" argo:"Omit it: cluster objects do not own workflows."`
	Finalizers        raw `json:"finalizers" argo:"Omit it: FlowForge stores workflows itself."`
}

type cronSpec struct {
	WorkflowSpec               raw           `json:"workflowSpec"`
	WorkflowMetadata           metadata      `json:"workflowMetadata"`
	Schedule                   string        `json:"schedule"`
	Schedules                  []string      `json:"schedules"`
	Timezone                   string        `json:"timezone"`
	Suspend                    bool          `json:"suspend"`
	ConcurrencyPolicy          string        `json:"concurrencyPolicy"`
	StartingDeadlineSeconds    *int64        `json:"startingDeadlineSeconds"`
	SuccessfulJobsHistoryLimit *int64        `json:"successfulJobsHistoryLimit"`
	FailedJobsHistoryLimit     *int64        `json:"failedJobsHistoryLimit"`
	StopStrategy               *stopStrategy `json:"stopStrategy"`
	When                       string        `json:"when"`
}

type stopStrategy struct {
	Expression string `json:"expression"`
	Condition  string `json:"condition"`
}

type spec struct {
	Templates           []template       `json:"templates"`
	Entrypoint          string           `json:"entrypoint"`
	Arguments           arguments        `json:"arguments"`
	Parallelism         *int64           `json:"parallelism"`
	OnExit              string           `json:"onExit"`
	ActiveDeadline      *int64           `json:"activeDeadlineSeconds"`
	TemplateDefaults    raw              `json:"templateDefaults"`
	WorkflowTemplateRef *workflowRef     `json:"workflowTemplateRef"`
	RetryStrategy       *retryStrategy   `json:"retryStrategy"`
	Hooks               map[string]*hook `json:"hooks"`
	WorkflowMetadata    ownMetadata      `json:"workflowMetadata"`

	podSettings `json:",inline"`

	// FlowForge always does this: logs are kept in its own store, and pods are
	// removed when they have ended.
	ArchiveLogs           *bool `json:"archiveLogs"`
	ArtifactRepositoryRef raw   `json:"artifactRepositoryRef"`
	PodGC                 raw   `json:"podGC"`

	Priority             *int64           `json:"priority"`
	PodPriority          raw              `json:"podPriority" argo:"Kubernetes accepts a priority only as a class: set podPriorityClassName."`
	Suspend              raw              `json:"suspend" argo:"Omit it, and launch the workflow when it should run."`
	Shutdown             raw              `json:"shutdown" argo:"Cancel the execution to end it."`
	ExecutorPlugins      raw              `json:"executorPlugins" argo:"Plugins do not run alongside pods. Add a sidecar to the template that needs the plugin, or run the plugin as a template with daemon: true."`
	Executor             raw              `json:"executor" argo:"Omit it: the only executor is FlowForge's runner."`
	VolumeClaimTemplates []raw            `json:"volumeClaimTemplates"`
	VolumeClaimGC        *claimGC         `json:"volumeClaimGC"`
	PodDisruptionBudget  raw              `json:"podDisruptionBudget"`
	PodResources         *resources       `json:"podResources"`
	TTLStrategy          *ttlStrategy     `json:"ttlStrategy"`
	Synchronization      *synchronization `json:"synchronization"`
	Metrics              *metrics         `json:"metrics"`
	ArtifactGC           *artifactGC      `json:"artifactGC"`
}

// ownMetadata is the metadata of executions, in addition to that of their document.
type ownMetadata struct {
	Labels      map[string]Text      `json:"labels"`
	Annotations map[string]Text      `json:"annotations"`
	LabelsFrom  map[string]labelFrom `json:"labelsFrom"`
}

// labelFrom computes a label at the launch.
type labelFrom struct {
	Expression string `json:"expression"`
}

// claimGC specifies when claims that were made for an execution are removed.
type claimGC struct {
	Strategy string `json:"strategy"`
}

type workflowRef struct {
	Name         string `json:"name"`
	ClusterScope bool   `json:"clusterScope"`
}

type templateRef struct {
	Name         string `json:"name"`
	Template     string `json:"template"`
	ClusterScope bool   `json:"clusterScope"`
}

type arguments struct {
	Parameters []parameter `json:"parameters"`
	Artifacts  []artifact  `json:"artifacts"`
}

type parameter struct {
	Name        string     `json:"name"`
	Value       *Text      `json:"value"`
	Default     *Text      `json:"default"`
	ValueFrom   *valueFrom `json:"valueFrom"`
	Enum        []Text     `json:"enum"`
	Description Text       `json:"description"`
	GlobalName  string     `json:"globalName"`
}

type valueFrom struct {
	Path       string `json:"path"`
	Parameter  string `json:"parameter"`
	Expression string `json:"expression"`
	Default    *Text  `json:"default"`
	Supplied   raw    `json:"supplied"`

	ConfigMapKeyRef *configMapKey `json:"configMapKeyRef"`

	JSONPath raw `json:"jsonPath" argo:"It belongs to templates of type resource, which FlowForge does not support. Call the cluster's API from a task that writes the value to a file, and read it with path."`
	JQFilter raw `json:"jqFilter" argo:"It belongs to templates of type resource, which FlowForge does not support. Call the cluster's API from a task that writes the value to a file, and read it with path."`
	Event    raw `json:"event" argo:"Start executions through the API instead."`
}

type artifact struct {
	Name           string      `json:"name"`
	Path           string      `json:"path"`
	Mode           *int64      `json:"mode"`
	From           string      `json:"from"`
	FromExpression string      `json:"fromExpression"`
	Optional       bool        `json:"optional"`
	GlobalName     string      `json:"globalName"`
	Raw            *rawFile    `json:"raw"`
	HTTP           *httpFile   `json:"http"`
	Git            *repository `json:"git"`
	// How a file is packed in a bucket. FlowForge's own store has files unchanged.
	Archive *archive `json:"archive"`

	S3          *s3File          `json:"s3"`
	OSS         *ossFile         `json:"oss"`
	Azure       *azureFile       `json:"azure"`
	GCS         *gcsFile         `json:"gcs"`
	Artifactory *artifactoryFile `json:"artifactory"`
	SubPath     string           `json:"subPath"`
	RecurseMode bool             `json:"recurseMode"`
	ArtifactGC  *artifactGC      `json:"artifactGC"`

	HDFS    raw `json:"hdfs" argo:"Fetch the file in a task."`
	Plugin  raw `json:"plugin" argo:"Fetch the file in a task."`
	Deleted raw `json:"deleted" argo:"Omit it."`
}

type rawFile struct {
	Data string `json:"data"`
}

type httpFile struct {
	URL     string       `json:"url"`
	Headers []httpHeader `json:"headers"`
	Auth    *httpAuth    `json:"auth"`
}

// s3File is a file in the store of the installation if it has only a key, or else an object in a
// bucket.
type s3File struct {
	Key             string     `json:"key"`
	Bucket          string     `json:"bucket"`
	Endpoint        string     `json:"endpoint"`
	Region          string     `json:"region"`
	Insecure        bool       `json:"insecure"`
	AccessKeySecret *secretKey `json:"accessKeySecret"`
	SecretKeySecret *secretKey `json:"secretKeySecret"`
	SessionToken    *secretKey `json:"sessionTokenSecret"`

	RoleARN      raw `json:"roleARN" argo:"Use accessKeySecret and secretKeySecret."`
	UseSDKCreds  raw `json:"useSDKCreds" argo:"Use accessKeySecret and secretKeySecret."`
	CreateBucket raw `json:"createBucketIfNotPresent" argo:"Omit it, and create the bucket yourself."`
	Encryption   raw `json:"encryptionOptions" argo:"Omit it, and set the default encryption of the bucket."`
	CASecret     raw `json:"caSecret" argo:"Transfer the file in a task that reads the certificate from a secret."`
}

// ossFile is an object of Alibaba Cloud OSS.
type ossFile struct {
	Key             string     `json:"key"`
	Bucket          string     `json:"bucket"`
	Endpoint        string     `json:"endpoint"`
	AccessKeySecret *secretKey `json:"accessKeySecret"`
	SecretKeySecret *secretKey `json:"secretKeySecret"`

	SecurityToken raw `json:"securityToken" argo:"Use only accessKeySecret and secretKeySecret."`
	UseSDKCreds   raw `json:"useSDKCreds" argo:"Use accessKeySecret and secretKeySecret."`
	CreateBucket  raw `json:"createBucketIfNotPresent" argo:"Omit it, and create the bucket yourself."`
	Lifecycle     raw `json:"lifecycleRule" argo:"Omit it, and set the lifecycle rules of the bucket yourself."`
}

// azureFile is a blob of Azure Blob Storage.
type azureFile struct {
	Endpoint         string     `json:"endpoint"`
	Container        string     `json:"container"`
	Blob             string     `json:"blob"`
	AccountKeySecret *secretKey `json:"accountKeySecret"`

	UseSDKCreds raw `json:"useSDKCreds" argo:"Use accountKeySecret."`
}

// gcsFile is an object of Google Cloud Storage.
type gcsFile struct {
	Key               string     `json:"key"`
	Bucket            string     `json:"bucket"`
	ServiceAccountKey *secretKey `json:"serviceAccountKeySecret"`
}

// archive is how a file is packed: one of none, tar (the default) and zip.
type archive struct {
	None *struct{}   `json:"none"`
	Tar  *tarArchive `json:"tar"`
	Zip  *struct{}   `json:"zip"`
}

type tarArchive struct {
	CompressionLevel *int64 `json:"compressionLevel"`
}

// secretKey names one value of a secret.
type secretKey struct {
	Name     string `json:"name"`
	Key      string `json:"key"`
	Optional bool   `json:"optional"`
}

// artifactGC is when artifacts are deleted.
type artifactGC struct {
	Strategy string `json:"strategy"`

	ServiceAccountName raw `json:"serviceAccountName" argo:"Omit it: no pod removes artifacts."`
	PodMetadata        raw `json:"podMetadata" argo:"Omit it: no pod removes artifacts."`
	PodSpecPatch       raw `json:"podSpecPatch" argo:"Omit it: no pod removes artifacts."`
	Force              raw `json:"forceFinalizerRemoval" argo:"Omit it: there are no finalizers."`
}

type repository struct {
	Repo     string `json:"repo"`
	Revision string `json:"revision"`
	Depth    *int64 `json:"depth"`

	Branch            string   `json:"branch"`
	Fetch             []string `json:"fetch"`
	SingleBranch      bool     `json:"singleBranch"`
	DisableSubmodules bool     `json:"disableSubmodules"`
	InsecureSkipTLS   bool     `json:"insecureSkipTLS"`

	UsernameSecret        raw `json:"usernameSecret" argo:"Clone the repository in a task, with a secret."`
	PasswordSecret        raw `json:"passwordSecret" argo:"Clone the repository in a task, with a secret."`
	SSHPrivateKeySecret   raw `json:"sshPrivateKeySecret" argo:"Clone the repository in a task, with a secret."`
	InsecureIgnoreHostKey raw `json:"insecureIgnoreHostKey" argo:"Clone the repository in a task."`
}

type hook struct {
	Template    string       `json:"template"`
	TemplateRef *templateRef `json:"templateRef"`
	Arguments   arguments    `json:"arguments"`
	Expression  string       `json:"expression"`
}

type retryStrategy struct {
	Limit       *Text    `json:"limit"`
	RetryPolicy string   `json:"retryPolicy"`
	Backoff     *backoff `json:"backoff"`
	Expression  string   `json:"expression"`
	Affinity    raw      `json:"affinity" argo:"Omit it: an attempt whose machine was lost runs on another machine."`
}

type backoff struct {
	Duration    Text  `json:"duration"`
	Factor      *Text `json:"factor"`
	Cap         Text  `json:"cap"`
	MaxDuration Text  `json:"maxDuration"`
}

type ttlStrategy struct {
	Completion *int64 `json:"secondsAfterCompletion"`
	Success    *int64 `json:"secondsAfterSuccess"`
	Failure    *int64 `json:"secondsAfterFailure"`
}

type synchronization struct {
	Mutex      *mutex      `json:"mutex"`
	Mutexes    []mutex     `json:"mutexes"`
	Semaphore  *semaphore  `json:"semaphore"`
	Semaphores []semaphore `json:"semaphores"`
}

type mutex struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"` // locks are of the project
	Database  bool   `json:"database"`  // where FlowForge keeps its locks anyway
}

type semaphore struct {
	ConfigMapKeyRef *configMapKey `json:"configMapKeyRef"`
	Namespace       string        `json:"namespace"`
	Database        *databaseKey  `json:"database"`
}

// databaseKey names a semaphore whose permits are in a database: FlowForge's own,
// where an administrator of the project sets them.
type databaseKey struct {
	Key string `json:"key"`
}

type configMapKey struct {
	Name     string `json:"name"`
	Key      string `json:"key"`
	Optional bool   `json:"optional"`
}

// metrics are the Prometheus metrics of a template or of the workflow.
type metrics struct {
	Prometheus []prometheus `json:"prometheus"`
}

type prometheus struct {
	Name      string        `json:"name"`
	Help      string        `json:"help"`
	Labels    []metricLabel `json:"labels"`
	When      string        `json:"when"`
	Counter   *counter      `json:"counter"`
	Gauge     *gauge        `json:"gauge"`
	Histogram *histogram    `json:"histogram"`
}

type metricLabel struct {
	Key   string `json:"key"`
	Value Text   `json:"value"`
}

type counter struct {
	Value Text `json:"value"`
}

type gauge struct {
	Value     Text   `json:"value"`
	Realtime  bool   `json:"realtime"`
	Operation string `json:"operation"`
}

type histogram struct {
	Value   Text   `json:"value"`
	Buckets []Text `json:"buckets"`
}

type memoize struct {
	Key    string `json:"key"`
	MaxAge Text   `json:"maxAge"`
	Cache  struct {
		ConfigMap configMapKey `json:"configMap"`
	} `json:"cache"`
}
