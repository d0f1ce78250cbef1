// Package settings reads the environment variables of FlowForge into typed structs, whose
// tags also generate docs/settings.md.
//
// A field has the name of its variable in `env` and its default in `envDefault`. `min` is
// the least allowed number, `oneof` lists the allowed values. For the document, `doc` is the
// meaning, and `shown` describes a default that is no constant; “…” is shown as code.
package settings

import (
	"strconv"
	"time"
)

// Settings are all settings of a server.
type Settings struct {
	Server        Server        `title:"Server"`
	Databases     Databases     `title:"Databases"`
	Tasks         Tasks         `title:"Tasks"`
	Artifacts     Artifacts     `title:"Artifacts"`
	Options       Options       `title:"Options of inputs"`
	Metaflow      Metaflow      `title:"Metaflow"`
	Mail          Mail          `title:"E-mail notifications"`
	Retention     Retention     `title:"Retention"`
	Events        Events        `title:"Events"`
	Servers       Servers       `title:"Several servers"`
	Certificates  Certificates  `title:"Certificates"`
	SignIn        SignIn        `title:"Sign-in"`
	RateLimits    RateLimits    `title:"Rate limits"`
	Observability Observability `title:"Metrics and traces"`
	Pods          Pods          `title:"Pods"`
}

// Server is where and how the server serves.
type Server struct {
	Addr           string   `env:"FLOWFORGE_ADDR" envDefault:"127.0.0.1:8080" doc:"address to serve on; without sign-in, only loopback addresses are allowed"`
	DataDir        string   `env:"FLOWFORGE_DATA_DIR" envDefault:".flowforge" doc:"folder for all data of the server"`
	PublicURL      string   `env:"FLOWFORGE_PUBLIC_URL" shown:"http://FLOWFORGE_ADDR" doc:"public address of the server; with https, cookies are “Secure”"`
	TrustedProxies Networks `env:"FLOWFORGE_TRUSTED_PROXIES" doc:"proxies whose “X-Forwarded-For” is trusted: addresses or networks"`
	LogLevel       Level    `env:"FLOWFORGE_LOG_LEVEL" envDefault:"INFO" doc:"level of the server's log: “DEBUG”, “INFO”, “WARN” or “ERROR”"`
	Examples       Switch   `env:"FLOWFORGE_EXAMPLES" envDefault:"on" doc:"whether to register the examples at the first start: “on” or “off”"`
	OutgoingHosts  Names    `env:"FLOWFORGE_OUTGOING_HOSTS" shown:"none; this machine and private networks without sign-in" doc:"hosts with or without ports, such as “db.internal:5432”, to which the server connects for connections, secret stores and options of inputs even in private networks, on its own machine and at cloud metadata services (docs/connections.md)"`
	DrainSeconds   int      `env:"FLOWFORGE_DRAIN_SECONDS" envDefault:"0" doc:"seconds between the first failing “/readyz” and the shutdown, so that load balancers can react"`
}

// Databases are the engines that store data.
type Databases struct {
	DatabaseURL        string        `env:"FLOWFORGE_DATABASE_URL" shown:"an embedded PostgreSQL" doc:"postgres://…; the parameter “pool_max_conns” sets the maximum number of connections (docs/administration.md)"`
	DatabaseSessionURL string        `env:"FLOWFORGE_DATABASE_SESSION_URL" shown:"FLOWFORGE_DATABASE_URL" doc:"address of the same database without a connection pooler; required if FLOWFORGE_DATABASE_URL is the address of a pooler in transaction mode, such as PgBouncer (docs/administration.md)"`
	DatabaseReadURL    string        `env:"FLOWFORGE_DATABASE_READ_URL" doc:"streaming replica of that database, from which lists and dashboards are read (docs/administration.md)"`
	DatabaseReadLag    time.Duration `env:"FLOWFORGE_DATABASE_READ_MAX_LAG" envDefault:"5s" doc:"maximum age of changes that a list may not contain yet; if the replica lags further behind, lists are read from FLOWFORGE_DATABASE_URL"`
	ClickHouseURL      string        `env:"FLOWFORGE_CLICKHOUSE_URL" shown:"the embedded engine" doc:"http://…, https://… or clickhouse://…"`
	ClickHouseIdle     time.Duration `env:"FLOWFORGE_CLICKHOUSE_IDLE" envDefault:"5m" min:"0" doc:"time without use after which the embedded engine stops; the next use starts it again (docs/administration.md). “0s”: it never stops"`
	PostgresDir        string        `env:"FLOWFORGE_POSTGRES_DIR" shown:"detected" doc:"folder with “initdb” and “postgres”"`
	ChdbLibrary        string        `env:"FLOWFORGE_CHDB_LIB" shown:"detected" doc:"path of “libchdb.so”"`
	SpoolMaxMiB        int           `env:"FLOWFORGE_SPOOL_MAX_MIB" envDefault:"1024" min:"1" doc:"disk space for logs and metrics while ClickHouse is unavailable, in MiB"`
	LogRetentionDays   int           `env:"FLOWFORGE_LOG_RETENTION_DAYS" envDefault:"90" min:"1" doc:"age at which log lines and metrics are removed, in days"`
}

// Tasks is where tasks run and what they can use.
type Tasks struct {
	Launcher         string        `env:"FLOWFORGE_LAUNCHER" envDefault:"local" oneof:"local,kube" doc:"“local” runs attempts as processes of this machine, “kube” as pods"`
	CPUMillis        int           `env:"FLOWFORGE_CPU_MILLIS" envDefault:"0" shown:"the machine's" doc:"total CPU of all local tasks, in millicores"`
	MemoryMiB        int           `env:"FLOWFORGE_MEMORY_MIB" envDefault:"0" shown:"the machine's" doc:"total memory of all local tasks, in MiB"`
	Slots            int           `env:"FLOWFORGE_SLOTS" envDefault:"0" shown:"from the cores" doc:"maximum number of concurrent local tasks"`
	DefaultCPUMillis int           `env:"FLOWFORGE_DEFAULT_CPU_MILLIS" envDefault:"100" doc:"CPU request of tasks that set none, in millicores; “0” requests nothing"`
	DefaultMemoryMiB int           `env:"FLOWFORGE_DEFAULT_MEMORY_MIB" envDefault:"256" doc:"memory request of tasks that set none, in MiB; “0” requests nothing"`
	GPUs             string        `env:"FLOWFORGE_GPUS" shown:"from “nvidia-smi”" doc:"GPUs for local tasks, by type: “A100:4,H100:2”"`
	LocalImages      string        `env:"FLOWFORGE_LOCAL_IMAGES" oneof:"host" doc:"“host” runs commands that name an image, such as those in Argo manifests, on this machine without the image; otherwise, local launches reject them"`
	Python           string        `env:"FLOWFORGE_PYTHON" shown:"“python3”" doc:"interpreter of Python tasks and of the environments for their requirements"`
	SweepPython      string        `env:"FLOWFORGE_SWEEP_PYTHON" shown:"an environment in the data directory, created when the first sweep needs it" doc:"interpreter with Optuna, for sweeps that use tpe (docs/sweeps.md)"`
	WarmParents      int           `env:"FLOWFORGE_PYTHON_WARM" envDefault:"8" min:"0" doc:"maximum number of warm Python processes, one per environment, on this machine and in each warm pod; attempts are forks of them. With “0”, every attempt starts an interpreter (docs/python.md)"`
	WarmMemoryMiB    int           `env:"FLOWFORGE_PYTHON_WARM_MEMORY_MIB" envDefault:"1024" min:"1" doc:"total memory of all warm Python processes on this machine; also the maximum in a warm pod"`
	WorkerLostAfter  time.Duration `env:"FLOWFORGE_WORKER_LOST_AFTER" envDefault:"1m" doc:"time without a heartbeat after which a worker of a pool is lost and its tasks run again (docs/workers.md)"`
	TaskAddr         string        `env:"FLOWFORGE_TASK_ADDR" shown:"FLOWFORGE_ADDR" doc:"a separate address that serves only the task API"`
	TaskURL          string        `env:"FLOWFORGE_TASK_URL" shown:"derived from that address" doc:"URL at which tasks reach the task API"`
}

// WarmEnv returns the settings of warm Python processes as the variables of a warm pod.
func (t Tasks) WarmEnv() map[string]string {
	return map[string]string{
		"FLOWFORGE_PYTHON_WARM":            strconv.Itoa(t.WarmParents),
		"FLOWFORGE_PYTHON_WARM_MEMORY_MIB": strconv.Itoa(t.WarmMemoryMiB),
	}
}

// Artifacts is where the files of tasks are stored.
type Artifacts struct {
	Location       string `env:"FLOWFORGE_ARTIFACTS" shown:"a folder in the data directory" doc:"storage for the files of tasks: a folder, or s3://bucket/prefix with credentials from the standard AWS_… variables"`
	Endpoint       string `env:"FLOWFORGE_S3_ENDPOINT" shown:"AWS" doc:"address of the store, if it is not AWS"`
	PublicEndpoint string `env:"FLOWFORGE_S3_PUBLIC_ENDPOINT" shown:"FLOWFORGE_S3_ENDPOINT" doc:"address of that store for browsers, if it differs"`
	PathStyle      bool   `env:"FLOWFORGE_S3_PATH_STYLE" envDefault:"false" doc:"“true” for path-style URLs"`
	Direct         string `env:"FLOWFORGE_S3_DIRECT" envDefault:"tasks" oneof:"tasks,all,off" doc:"who accesses the store directly: “tasks”, “all” (also browsers) or “off”"`
}

// Options is what the server requests for the options of inputs.
type Options struct {
	Hosts Names `env:"FLOWFORGE_OPTIONS_HOSTS" doc:"hosts from which inputs may take their options, separated by commas: “api.example.com”, “api.example.com:8443” or “*.example.com”. Hosts with private addresses must also be listed in “FLOWFORGE_OUTGOING_HOSTS” (docs/launch-forms.md)"`
}

// Metaflow is what the server reads of the datastores of Metaflow.
type Metaflow struct {
	Roots     Names `env:"FLOWFORGE_METAFLOW_ROOTS" doc:"absolute paths of folders in which installation administrators can set the datastores of projects, separated by commas (docs/metaflow.md)"`
	Endpoints Names `env:"FLOWFORGE_METAFLOW_ENDPOINTS" shown:"none; credentials for every host and the server's machine without sign-in" doc:"hosts with or without ports, such as “minio.example.com:9000”, to which the server sends credentials of datastores of projects, and to which it connects even on its own machine, on link-local addresses and on cloud metadata addresses. Amazon S3 needs no entry. Hosts that are not listed can serve only public buckets"`
}

// Mail is the mail server for personal notifications.
type Mail struct {
	Host         string `env:"FLOWFORGE_MAIL_HOST" doc:"mail server; without one, users receive notifications only in their inbox (docs/notifications.md). Set it on every server"`
	Port         int    `env:"FLOWFORGE_MAIL_PORT" envDefault:"587" min:"1" doc:"port of the mail server"`
	TLS          string `env:"FLOWFORGE_MAIL_TLS" envDefault:"starttls" oneof:"starttls,tls,none" doc:"“starttls”, “tls” (usually port 465) or “none”"`
	From         string `env:"FLOWFORGE_MAIL_FROM" doc:"sender, such as “FlowForge <flowforge@example.com>”; required with FLOWFORGE_MAIL_HOST"`
	User         string `env:"FLOWFORGE_MAIL_USER" doc:"user name, if the server requires authentication"`
	Password     string `env:"FLOWFORGE_MAIL_PASSWORD" doc:"password of the user"`
	PasswordFile string `env:"FLOWFORGE_MAIL_PASSWORD_FILE" doc:"file with the password"`
	CA           string `env:"FLOWFORGE_MAIL_CA" shown:"the system's" doc:"PEM file with the certificate of the server or its authority"`
}

// Retention is how long executions and files are kept.
type Retention struct {
	Completion  Lifetime `env:"FLOWFORGE_RETENTION" shown:"“off”" doc:"retention of ended executions whose definition sets none, such as “30d” (docs/retention.md)"`
	Success     Lifetime `env:"FLOWFORGE_RETENTION_SUCCESS" shown:"“off”" doc:"retention of executions that succeeded"`
	Failure     Lifetime `env:"FLOWFORGE_RETENTION_FAILURE" shown:"“off”" doc:"retention of executions that failed or were cancelled"`
	Grace       Lifetime `env:"FLOWFORGE_RETENTION_GRACE" envDefault:"24h" doc:"how long unreferenced files are kept; at least “1h”"`
	Development Lifetime `env:"FLOWFORGE_RETENTION_DEVELOPMENT" envDefault:"14d" doc:"how long unused development versions are kept; at least “1h”"`
	Events      Lifetime `env:"FLOWFORGE_RETENTION_EVENTS" envDefault:"7d" doc:"how long the feed of events keeps an event (docs/events.md); at least “1h”"`
	Sweep       Lifetime `env:"FLOWFORGE_RETENTION_SWEEP" envDefault:"1h" doc:"time between two cleanups; at least “1m”"`
}

// Events are the brokers to which events of the feed are sent.
type Events struct {
	NATSURL         string `env:"FLOWFORGE_EVENTS_NATS_URL" shown:"none; events are not sent" doc:"NATS server with JetStream that receives events: “nats://host:4222” or “tls://host:4222”, several separated by commas (docs/events.md)"`
	NATSSubject     string `env:"FLOWFORGE_EVENTS_NATS_SUBJECT" envDefault:"flowforge.events" doc:"prefix of the subjects; a stream of the server must store “<prefix>.>”"`
	NATSCredentials string `env:"FLOWFORGE_EVENTS_NATS_CREDENTIALS" doc:"path of a credentials file (“.creds”) of that server"`
	NATSCA          string `env:"FLOWFORGE_EVENTS_NATS_CA" shown:"the system's" doc:"path of a PEM file with the CA of that server"`
	NATSTopics      Names  `env:"FLOWFORGE_EVENTS_NATS_TOPICS" shown:"all but “audit”" doc:"topics that are sent, separated by commas"`

	KafkaBrokers    Names  `env:"FLOWFORGE_EVENTS_KAFKA_BROKERS" shown:"none; events are not sent" doc:"one or more brokers of a Kafka cluster that receives events, such as “kafka-1:9092,kafka-2:9092” (docs/events.md)"`
	KafkaTopic      string `env:"FLOWFORGE_EVENTS_KAFKA_TOPIC" envDefault:"flowforge.events" doc:"Kafka topic that receives the events; it must exist"`
	KafkaFeedTopics Names  `env:"FLOWFORGE_EVENTS_KAFKA_FEED_TOPICS" shown:"all but “audit”" doc:"topics of the event feed that are sent, separated by commas"`
	KafkaTLS        Switch `env:"FLOWFORGE_EVENTS_KAFKA_TLS" envDefault:"off" doc:"“on” to connect with TLS"`
	KafkaCA         string `env:"FLOWFORGE_EVENTS_KAFKA_CA" shown:"the system's" doc:"path of a PEM file with the CA of the brokers"`
	KafkaCert       string `env:"FLOWFORGE_EVENTS_KAFKA_CERT" doc:"path of a PEM file with a client certificate"`
	KafkaKey        string `env:"FLOWFORGE_EVENTS_KAFKA_KEY" doc:"path of a PEM file with the key of the client certificate"`
	KafkaUser       string `env:"FLOWFORGE_EVENTS_KAFKA_USER" doc:"user for SASL"`
	KafkaPassword   string `env:"FLOWFORGE_EVENTS_KAFKA_PASSWORD" doc:"password for SASL"`
	KafkaSASL       string `env:"FLOWFORGE_EVENTS_KAFKA_SASL" envDefault:"PLAIN" oneof:"PLAIN,SCRAM-SHA-256,SCRAM-SHA-512" doc:"SASL mechanism, if there is a user"`
}

// Servers are the settings for several servers on one database.
type Servers struct {
	Roles          string `env:"FLOWFORGE_ROLES" envDefault:"web,worker,scheduler,launcher" doc:"roles of this server, if several servers share FLOWFORGE_DATABASE_URL. “web”: pages, the API and task reports; “worker”: jobs; “scheduler”: drives executions (one leader); “launcher”: watches the cluster (one leader)"`
	Instance       string `env:"FLOWFORGE_INSTANCE" shown:"stored in the data directory" doc:"unique name of this server"`
	SecretsDir     string `env:"FLOWFORGE_SECRETS_DIR" shown:"“$FLOWFORGE_DATA_DIR/secrets”" doc:"folder with the keys that servers share; it can be read-only; “flowforge secrets init <folder>” creates the keys"`
	AdvertiseAddr  string `env:"FLOWFORGE_ADVERTISE_ADDR" shown:"from FLOWFORGE_ADDR" doc:"“host:port” at which other servers reach this one"`
	Leases         string `env:"FLOWFORGE_LEASES" envDefault:"postgres" oneof:"postgres,kubernetes" doc:"storage of the leases for leader election"`
	LeaseNamespace string `env:"FLOWFORGE_LEASE_NAMESPACE" shown:"the pod's namespace" doc:"namespace of leases in Kubernetes"`
	InternalAddr   string `env:"FLOWFORGE_INTERNAL_ADDR" doc:"an address for other servers only, with mutual TLS; FLOWFORGE_ADVERTISE_ADDR refers to it"`
}

// Certificates are PEM files.
type Certificates struct {
	TaskCert     string `env:"FLOWFORGE_TASK_TLS_CERT" doc:"certificate of FLOWFORGE_TASK_ADDR"`
	TaskKey      string `env:"FLOWFORGE_TASK_TLS_KEY" doc:"key of that certificate"`
	TaskClientCA string `env:"FLOWFORGE_TASK_TLS_CLIENT_CA" doc:"CA of the client certificates that tasks must have"`
	PodCA        string `env:"FLOWFORGE_TASK_TLS_CA" shown:"the system's" doc:"for pods: the CA that verifies FLOWFORGE_TASK_ADDR"`
	PodCert      string `env:"FLOWFORGE_TASK_TLS_CLIENT_CERT" doc:"for pods: their client certificate"`
	PodKey       string `env:"FLOWFORGE_TASK_TLS_CLIENT_KEY" doc:"for pods: the key of their client certificate"`
	InternalCert string `env:"FLOWFORGE_INTERNAL_TLS_CERT" doc:"certificate for connections between servers"`
	InternalKey  string `env:"FLOWFORGE_INTERNAL_TLS_KEY" doc:"key of that certificate"`
	InternalCA   string `env:"FLOWFORGE_INTERNAL_TLS_CA" doc:"CA of the certificates of all servers"`
	InternalName string `env:"FLOWFORGE_INTERNAL_TLS_SERVER_NAME" shown:"“flowforge-internal”" doc:"server name in the certificates of all servers"`
}

// SignIn are the sign-in providers and sessions.
type SignIn struct {
	Issuer           string `env:"FLOWFORGE_OIDC_ISSUER" doc:"address of the sign-in provider; without a provider, users sign in with a link"`
	ClientID         string `env:"FLOWFORGE_OIDC_CLIENT_ID" doc:"client ID at the provider"`
	ClientSecret     string `env:"FLOWFORGE_OIDC_CLIENT_SECRET" doc:"client secret at the provider"`
	ClientSecretFile string `env:"FLOWFORGE_OIDC_CLIENT_SECRET_FILE" doc:"file with the client secret"`
	Name             string `env:"FLOWFORGE_OIDC_NAME" shown:"“single sign-on”" doc:"name on the sign-in button"`
	Scopes           Names  `env:"FLOWFORGE_OIDC_SCOPES" shown:"“profile email groups”" doc:"requested scopes, in addition to “openid”"`
	GroupsClaim      string `env:"FLOWFORGE_OIDC_GROUPS_CLAIM" shown:"“groups”" doc:"claim that contains the groups of a user"`
	AdminGroups      Names  `env:"FLOWFORGE_OIDC_ADMIN_GROUPS" doc:"groups whose members administer the installation"`
	Audience         Names  `env:"FLOWFORGE_OIDC_AUDIENCE" doc:"accepted audiences of access tokens"`
	ProvidersFile    string `env:"FLOWFORGE_OIDC_FILE" doc:"several providers: a YAML file with a list “providers”; each has the same fields and an “id”"`
	IdleHours        int    `env:"FLOWFORGE_SESSION_IDLE_HOURS" envDefault:"12" min:"1" doc:"idle time after which a session ends, in hours"`
	SessionDays      int    `env:"FLOWFORGE_SESSION_DAYS" envDefault:"30" min:"1" doc:"maximum duration of a session, in days"`
}

// RateLimits bound requests per minute; nil: not set, 0: unlimited.
type RateLimits struct {
	Caller  *int `env:"FLOWFORGE_RATE_LIMIT" shown:"“3000”; unlimited without sign-in" doc:"requests per minute for one key or user"`
	Tenant  *int `env:"FLOWFORGE_RATE_LIMIT_TENANT" shown:"“30000”; unlimited without sign-in" doc:"requests per minute for one tenant"`
	Address *int `env:"FLOWFORGE_RATE_LIMIT_ADDRESS" shown:"“600”; unlimited without sign-in" doc:"unauthenticated requests per minute from one address"`
	Login   int  `env:"FLOWFORGE_RATE_LIMIT_LOGIN" envDefault:"30" doc:"failed sign-ins per minute from one address"`
}

// Observability is how the server is monitored.
type Observability struct {
	MetricsAddr     string `env:"FLOWFORGE_METRICS_ADDR" doc:"address of “/metrics”, without authentication (docs/metrics.md)"`
	MetricsTenants  int    `env:"FLOWFORGE_METRICS_TENANTS" envDefault:"20" doc:"number of tenants with their own label in metrics"`
	Collector       string `env:"OTEL_EXPORTER_OTLP_ENDPOINT" doc:"collector of traces (OTLP over HTTP); the other OpenTelemetry variables also apply"`
	TracesCollector string `env:"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" shown:"OTEL_EXPORTER_OTLP_ENDPOINT" doc:"collector of traces, if it differs"`
	TracesExporter  string `env:"OTEL_TRACES_EXPORTER" shown:"“otlp”" doc:"“none” turns traces off"`
	Disabled        string `env:"OTEL_SDK_DISABLED" shown:"“false”" doc:"“true” turns traces off"`
}

// Traces reports whether traces are sent: the variables of OpenTelemetry name a collector.
func (o Observability) Traces() bool {
	named := o.Collector != "" || o.TracesCollector != ""
	return named && !isTrue(o.Disabled) && o.TracesExporter != "none"
}

// Pods are the settings for tasks in pods of a Kubernetes cluster.
type Pods struct {
	Kubeconfig         string        `env:"FLOWFORGE_KUBE_CONFIG" shown:"the pod's account" doc:"kubeconfig, outside a cluster"`
	Context            string        `env:"FLOWFORGE_KUBE_CONTEXT" shown:"the current one" doc:"context of the kubeconfig"`
	Cluster            string        `env:"FLOWFORGE_KUBE_CLUSTER" doc:"display name of the cluster"`
	NamespacePrefix    Prefix        `env:"FLOWFORGE_KUBE_NAMESPACE_PREFIX" shown:"“ff-”" doc:"prefix of the projects' namespaces"`
	Image              string        `env:"FLOWFORGE_KUBE_IMAGE" shown:"required for pods" doc:"FlowForge's image, which copies the program and the Python SDK into every pod"`
	TaskImage          string        `env:"FLOWFORGE_KUBE_TASK_IMAGE" shown:"FLOWFORGE_KUBE_IMAGE" doc:"default image of operators; pods with FlowForge's image need no init container and start in a third of the time"`
	QPS                int           `env:"FLOWFORGE_KUBE_QPS" envDefault:"200" min:"1" doc:"requests to the cluster's API per second"`
	Burst              int           `env:"FLOWFORGE_KUBE_BURST" shown:"twice the QPS" min:"1" doc:"requests to the cluster's API in a burst"`
	Concurrency        int           `env:"FLOWFORGE_KUBE_CONCURRENCY" envDefault:"32" min:"1" doc:"concurrent requests to the cluster's API"`
	GPUResource        string        `env:"FLOWFORGE_KUBE_GPU_RESOURCE" envDefault:"nvidia.com/gpu" doc:"resource name of GPUs"`
	GPULabel           string        `env:"FLOWFORGE_KUBE_GPU_LABEL" envDefault:"nvidia.com/gpu.product" doc:"label of machines with the type of their GPUs"`
	GPUTypes           GPUTypes      `env:"FLOWFORGE_KUBE_GPU_TYPES" shown:"the label's values" doc:"names of GPU types: “A100=NVIDIA-A100-SXM4-80GB”"`
	ImageTimeout       time.Duration `env:"FLOWFORGE_KUBE_IMAGE_TIMEOUT" envDefault:"5m" doc:"time after which an attempt fails if its image is unavailable"`
	RegistryConfig     string        `env:"FLOWFORGE_KUBE_REGISTRY_CONFIG" doc:"path of a Docker “config.json” with registry credentials for looking up default commands of images (“auths” only; credential helpers are not run). Each lookup reads the file again"`
	InsecureRegistries Hosts         `env:"FLOWFORGE_KUBE_INSECURE_REGISTRIES" doc:"hosts with ports that the server may access over plain HTTP, including its own machine: “10.0.0.5:5000,registry.local”. Private addresses always allow plain HTTP; other addresses and names need HTTPS"`
	ImageCommands      string        `env:"FLOWFORGE_KUBE_IMAGE_COMMANDS" doc:"path of a YAML file with default commands of images in unreachable registries: “busybox:1.37: {entrypoint: [], cmd: [sh]}”"`
	StartTimeout       time.Duration `env:"FLOWFORGE_KUBE_START_TIMEOUT" envDefault:"5m" doc:"maximum time until a scheduled pod starts"`
	PendingTimeout     time.Duration `env:"FLOWFORGE_KUBE_PENDING_TIMEOUT" envDefault:"0s" doc:"maximum time until a pod is scheduled; “0s” for no limit"`
	LostAfter          time.Duration `env:"FLOWFORGE_KUBE_LOST_AFTER" envDefault:"5s" doc:"time after which the pods of an unresponsive machine are lost. A machine is also lost if it does not renew its lease in time; with the kubelet setting “nodeLeaseDurationSeconds: 8” (default 40), FlowForge detects this within 10 s"`
	ResidentMax        int           `env:"FLOWFORGE_KUBE_RESIDENT_MAX" envDefault:"0" doc:"maximum number of warm pods per project for “resident” operators"`
	ResidentIdle       time.Duration `env:"FLOWFORGE_KUBE_RESIDENT_IDLE" envDefault:"2m" doc:"idle time after which a warm pod ends"`
	KeepFailed         time.Duration `env:"FLOWFORGE_KUBE_KEEP_FAILED" envDefault:"0s" doc:"how long pods of failed attempts are kept for inspection"`
	TokenAudience      string        `env:"FLOWFORGE_KUBE_TOKEN_AUDIENCE" doc:"audience of tokens of the cluster's service accounts that may call the API"`
	TokenAccounts      TokenAccounts `env:"FLOWFORGE_KUBE_TOKEN_ACCOUNTS" doc:"the accounts, with their projects and roles: “ci/deployer=vision/digits:ProjectDev”"`
	PodSecurity        string        `env:"FLOWFORGE_KUBE_POD_SECURITY" envDefault:"restricted" oneof:"restricted,baseline,privileged" doc:"pod security standard of the projects' namespaces"`
	PodDefaults        PodFields     `env:"FLOWFORGE_KUBE_DEFAULTS" doc:"pod fields for every task, as JSON"`
	NetworkPolicy      string        `env:"FLOWFORGE_KUBE_NETWORK_POLICY" envDefault:"on" oneof:"on,off" doc:"whether namespaces get network policies"`
	Egress             Blocks        `env:"FLOWFORGE_KUBE_EGRESS" doc:"CIDR blocks that tasks can reach"`
	ServerNamespace    string        `env:"FLOWFORGE_KUBE_SERVER_NAMESPACE" shown:"any" doc:"namespace of the server's pods, for network policies"`
	ServerLabels       Labels        `env:"FLOWFORGE_KUBE_SERVER_LABELS" shown:"“app.kubernetes.io/name=flowforge”" doc:"labels of the server's pods, for network policies"`
}

// Client are the settings of the command line.
type Client struct {
	URL     string `env:"FLOWFORGE_SERVER" envDefault:"http://127.0.0.1:8080" doc:"server of the command line; without it, the server of the last “flowforge login”, if there was one"`
	Token   string `env:"FLOWFORGE_TOKEN" shown:"the key of the last “flowforge login”, or “admin.token” of the data directory" doc:"API key of the command line"`
	Project string `env:"FLOWFORGE_PROJECT" shown:"the selected project" doc:"project of the command line"`
}
