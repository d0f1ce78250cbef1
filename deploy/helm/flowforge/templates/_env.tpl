{{/* The environment of every server: (dict "root" $ "roles" "web,worker"). */}}
{{- define "flowforge.env" -}}
{{- $v := .root.Values -}}
{{- $open := include "flowforge.signIn" .root -}}
- {name: FLOWFORGE_INSTANCE, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
- {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
- {name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
- {name: FLOWFORGE_ROLES, value: {{ .roles | quote }}}
- {name: FLOWFORGE_ADDR, value: {{ ternary "0.0.0.0:8080" "127.0.0.1:8080" (not (empty $open)) | quote }}}
{{- if $open }}
- {name: FLOWFORGE_ADVERTISE_ADDR, value: {{ printf "$(POD_IP):%d" (include "flowforge.hopPort" .root | int) | quote }}}
{{- end }}
- {name: FLOWFORGE_METRICS_ADDR, value: {{ printf "0.0.0.0:%v" $v.metrics.port | quote }}}
{{- if contains "web" .roles }}
{{- if $v.kube.enabled }}
- {name: FLOWFORGE_TASK_ADDR, value: {{ printf "0.0.0.0:%v" $v.task.port | quote }}}
{{- end }}
- {name: FLOWFORGE_DRAIN_SECONDS, value: "5"}
{{- end }}
- {name: FLOWFORGE_DATA_DIR, value: /var/lib/flowforge}
- {name: FLOWFORGE_SECRETS_DIR, value: /etc/flowforge/keys}
- {name: FLOWFORGE_LOG_LEVEL, value: {{ $v.logLevel | quote }}}
- {name: FLOWFORGE_SPOOL_MAX_MIB, value: {{ $v.spool.maxMiB | quote }}}
- {name: FLOWFORGE_LOG_RETENTION_DAYS, value: {{ $v.logRetentionDays | quote }}}
{{- range $name, $key := dict "FLOWFORGE_RETENTION" "default" "FLOWFORGE_RETENTION_SUCCESS" "success" "FLOWFORGE_RETENTION_FAILURE" "failure" "FLOWFORGE_RETENTION_GRACE" "grace" "FLOWFORGE_RETENTION_DEVELOPMENT" "development" "FLOWFORGE_RETENTION_SWEEP" "sweep" }}
{{- with get $v.retention $key }}
- {name: {{ $name }}, value: {{ . | quote }}}
{{- end }}
{{- end }}
- {name: FLOWFORGE_EXAMPLES, value: {{ ternary "on" "off" $v.examples | quote }}}
{{- with $v.metaflow.roots }}
- {name: FLOWFORGE_METAFLOW_ROOTS, value: {{ join "," . | quote }}}
{{- end }}
{{- with $v.metaflow.endpoints }}
- {name: FLOWFORGE_METAFLOW_ENDPOINTS, value: {{ join "," . | quote }}}
{{- end }}
- name: FLOWFORGE_DATABASE_URL
  valueFrom: {secretKeyRef: {name: {{ include "flowforge.urlSecret" (dict "root" .root "name" "postgres") }}, key: url}}
{{- with $v.postgres.session.existingSecret }}
- name: FLOWFORGE_DATABASE_SESSION_URL
  valueFrom: {secretKeyRef: {name: {{ . }}, key: url}}
{{- end }}
{{- with $v.postgres.readReplica.existingSecret }}
- name: FLOWFORGE_DATABASE_READ_URL
  valueFrom: {secretKeyRef: {name: {{ . }}, key: url}}
- {name: FLOWFORGE_DATABASE_READ_MAX_LAG, value: {{ $v.postgres.readReplica.maxLag | quote }}}
{{- end }}
- name: FLOWFORGE_CLICKHOUSE_URL
  valueFrom: {secretKeyRef: {name: {{ include "flowforge.urlSecret" (dict "root" .root "name" "clickhouse") }}, key: url}}
{{ include "flowforge.env.people" .root }}
{{ include "flowforge.env.tasks" .root }}
{{- if include "flowforge.reviews" . }}
- {name: FLOWFORGE_KUBE_TOKEN_AUDIENCE, value: {{ .root.Values.kube.tokenAudience | quote }}}
- {name: FLOWFORGE_KUBE_TOKEN_ACCOUNTS, value: {{ join "," .root.Values.kube.tokenAccounts | quote }}}
{{- end }}
{{- include "flowforge.env.images" . }}
{{- include "flowforge.env.tls" . }}
{{- with $v.tracing.endpoint }}
- {name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ . | quote }}}
- {name: OTEL_TRACES_SAMPLER, value: parentbased_traceidratio}
- {name: OTEL_TRACES_SAMPLER_ARG, value: {{ $v.tracing.samplerRatio | quote }}}
{{- end }}
{{- with $v.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Sign-in and limits. */}}
{{- define "flowforge.env.people" -}}
{{- $v := .Values -}}
- {name: FLOWFORGE_SESSION_IDLE_HOURS, value: {{ $v.session.idleHours | quote }}}
- {name: FLOWFORGE_SESSION_DAYS, value: {{ $v.session.days | quote }}}
{{- if include "flowforge.signIn" . }}
- {name: FLOWFORGE_PUBLIC_URL, value: {{ $v.publicURL | quote }}}
- {name: FLOWFORGE_RATE_LIMIT, value: {{ $v.rateLimits.caller | int | quote }}}
- {name: FLOWFORGE_RATE_LIMIT_TENANT, value: {{ $v.rateLimits.tenant | int | quote }}}
- {name: FLOWFORGE_RATE_LIMIT_ADDRESS, value: {{ $v.rateLimits.address | int | quote }}}
{{- end }}
- {name: FLOWFORGE_RATE_LIMIT_LOGIN, value: {{ $v.rateLimits.login | int | quote }}}
{{- with $v.trustedProxies }}
- {name: FLOWFORGE_TRUSTED_PROXIES, value: {{ join "," . | quote }}}
{{- end }}
{{- if $v.oidc.existingFileSecret }}
- {name: FLOWFORGE_OIDC_FILE, value: /etc/flowforge/oidc/providers.yaml}
{{- end }}
{{- if $v.oidc.issuer }}
- {name: FLOWFORGE_OIDC_ISSUER, value: {{ $v.oidc.issuer | quote }}}
- {name: FLOWFORGE_OIDC_CLIENT_ID, value: {{ $v.oidc.clientID | quote }}}
{{- if or $v.oidc.clientSecret $v.oidc.existingSecret }}
- name: FLOWFORGE_OIDC_CLIENT_SECRET
  valueFrom: {secretKeyRef: {name: {{ default (printf "%s-oidc" (include "flowforge.fullname" .)) $v.oidc.existingSecret }}, key: client-secret}}
{{- end }}
{{- range $name, $value := dict "NAME" $v.oidc.name "SCOPES" (join " " $v.oidc.scopes) "GROUPS_CLAIM" $v.oidc.groupsClaim "ADMIN_GROUPS" (join "," $v.oidc.adminGroups) "AUDIENCE" (join "," $v.oidc.audience) }}
{{- if $value }}
- {name: FLOWFORGE_OIDC_{{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Tasks: how they start, where they report, and where their files are. */}}
{{- define "flowforge.env.tasks" -}}
{{- $v := .Values -}}
{{- if $v.kube.enabled -}}
- {name: FLOWFORGE_LAUNCHER, value: kube}
- {name: FLOWFORGE_LEASES, value: {{ $v.leases | quote }}}
- {name: FLOWFORGE_LEASE_NAMESPACE, value: "$(POD_NAMESPACE)"}
- {name: FLOWFORGE_TASK_URL, value: {{ include "flowforge.taskURL" . | quote }}}
- {name: FLOWFORGE_KUBE_NAMESPACE_PREFIX, value: {{ $v.kube.namespacePrefix | quote }}}
- {name: FLOWFORGE_KUBE_SERVER_NAMESPACE, value: "$(POD_NAMESPACE)"}
- {name: FLOWFORGE_KUBE_IMAGE, value: {{ include "flowforge.serverImage" . | quote }}}
- {name: FLOWFORGE_KUBE_TASK_IMAGE, value: {{ default (include "flowforge.serverImage" .) $v.kube.taskImage | quote }}}
- {name: FLOWFORGE_KUBE_QPS, value: {{ $v.kube.qps | quote }}}
- {name: FLOWFORGE_KUBE_BURST, value: {{ $v.kube.burst | quote }}}
- {name: FLOWFORGE_KUBE_CONCURRENCY, value: {{ $v.kube.concurrency | quote }}}
{{- with $v.kube.residentMax }}
- {name: FLOWFORGE_KUBE_RESIDENT_MAX, value: {{ . | quote }}}
- {name: FLOWFORGE_KUBE_RESIDENT_IDLE, value: {{ $v.kube.residentIdle | quote }}}
{{- end }}
- {name: FLOWFORGE_KUBE_GPU_LABEL, value: {{ $v.kube.gpuLabel | quote }}}
- {name: FLOWFORGE_KUBE_GPU_RESOURCE, value: {{ $v.kube.gpuResource | quote }}}
{{- with $v.kube.gpuTypes }}
- {name: FLOWFORGE_KUBE_GPU_TYPES, value: {{ include "flowforge.pairs" . | quote }}}
{{- end }}
- {name: FLOWFORGE_KUBE_IMAGE_TIMEOUT, value: {{ $v.kube.imageTimeout | quote }}}
- {name: FLOWFORGE_KUBE_START_TIMEOUT, value: {{ $v.kube.startTimeout | quote }}}
- {name: FLOWFORGE_KUBE_LOST_AFTER, value: {{ $v.kube.lostAfter | quote }}}
- {name: FLOWFORGE_KUBE_PENDING_TIMEOUT, value: {{ $v.kube.pendingTimeout | quote }}}
{{- with $v.kube.keepFailed }}
- {name: FLOWFORGE_KUBE_KEEP_FAILED, value: {{ . | quote }}}
{{- end }}
- {name: FLOWFORGE_KUBE_NETWORK_POLICY, value: {{ ternary "on" "off" $v.networkPolicy.enabled | quote }}}
{{- with $v.kube.egress }}
- {name: FLOWFORGE_KUBE_EGRESS, value: {{ join "," . | quote }}}
{{- end }}
- {name: FLOWFORGE_KUBE_SERVER_LABELS, value: {{ printf "app.kubernetes.io/instance=%s,app.kubernetes.io/component=%s" .Release.Name (include "flowforge.front" .) | quote }}}
- {name: FLOWFORGE_KUBE_POD_SECURITY, value: {{ $v.kube.podSecurity | quote }}}
{{- with $v.kube.defaults }}
- {name: FLOWFORGE_KUBE_DEFAULTS, value: {{ toJson . | quote }}}
{{- end }}
{{- with $v.kube.cluster }}
- {name: FLOWFORGE_KUBE_CLUSTER, value: {{ . | quote }}}
{{- end }}
{{- end }}
{{- with $v.artifacts.s3 }}
{{- if .bucket }}
- {name: FLOWFORGE_ARTIFACTS, value: {{ printf "s3://%s" (trimSuffix "/" (printf "%s/%s" .bucket .prefix)) | quote }}}
- {name: FLOWFORGE_S3_PATH_STYLE, value: {{ .pathStyle | quote }}}
{{- with .endpoint }}
- {name: FLOWFORGE_S3_ENDPOINT, value: {{ . | quote }}}
{{- end }}
{{- with .publicEndpoint }}
- {name: FLOWFORGE_S3_PUBLIC_ENDPOINT, value: {{ . | quote }}}
{{- end }}
- {name: FLOWFORGE_S3_DIRECT, value: {{ .direct | quote }}}
{{- with .region }}
- {name: AWS_REGION, value: {{ . | quote }}}
{{- end }}
{{- with .existingSecret }}
- {name: AWS_ACCESS_KEY_ID, valueFrom: {secretKeyRef: {name: {{ . }}, key: access-key-id}}}
- {name: AWS_SECRET_ACCESS_KEY, valueFrom: {secretKeyRef: {name: {{ . }}, key: secret-access-key}}}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Default commands of images, for the servers that start pods. */}}
{{- define "flowforge.env.images" -}}
{{- $v := .root.Values -}}
{{- if and $v.kube.enabled (or (contains "scheduler" .roles) (contains "launcher" .roles)) }}
{{- if $v.kube.registrySecret }}
- {name: FLOWFORGE_KUBE_REGISTRY_CONFIG, value: /etc/flowforge/registries/config.json}
{{- end }}
{{- with $v.kube.insecureRegistries }}
- {name: FLOWFORGE_KUBE_INSECURE_REGISTRIES, value: {{ join "," . | quote }}}
{{- end }}
{{- if $v.kube.imageCommands }}
- {name: FLOWFORGE_KUBE_IMAGE_COMMANDS, value: /etc/flowforge/images/commands.yaml}
{{- end }}
{{- end }}
{{- end -}}

{{/* Certificates: web to tasks, tasks to web, and servers to each other. */}}
{{- define "flowforge.env.tls" -}}
{{- $v := .root.Values -}}
{{- if and $v.task.tls.enabled $v.kube.enabled }}
{{- if contains "web" .roles }}
- {name: FLOWFORGE_TASK_TLS_CERT, value: /etc/flowforge/task-tls/tls.crt}
- {name: FLOWFORGE_TASK_TLS_KEY, value: /etc/flowforge/task-tls/tls.key}
{{- if $v.task.tls.clientSecret }}
- {name: FLOWFORGE_TASK_TLS_CLIENT_CA, value: /etc/flowforge/task-tls/ca.crt}
{{- end }}
{{- end }}
{{- if or (contains "scheduler" .roles) (contains "launcher" .roles) }}
- {name: FLOWFORGE_TASK_TLS_CA, value: /etc/flowforge/pod-tls/ca.crt}
{{- if $v.task.tls.clientSecret }}
- {name: FLOWFORGE_TASK_TLS_CLIENT_CERT, value: /etc/flowforge/pod-tls/tls.crt}
- {name: FLOWFORGE_TASK_TLS_CLIENT_KEY, value: /etc/flowforge/pod-tls/tls.key}
{{- end }}
{{- end }}
{{- end }}
{{- if include "flowforge.internalTLS" .root }}
- {name: FLOWFORGE_INTERNAL_ADDR, value: {{ printf "0.0.0.0:%d" (include "flowforge.hopPort" .root | int) | quote }}}
- {name: FLOWFORGE_INTERNAL_TLS_CERT, value: /etc/flowforge/internal-tls/tls.crt}
- {name: FLOWFORGE_INTERNAL_TLS_KEY, value: /etc/flowforge/internal-tls/tls.key}
- {name: FLOWFORGE_INTERNAL_TLS_CA, value: /etc/flowforge/internal-tls/ca.crt}
- {name: FLOWFORGE_INTERNAL_TLS_SERVER_NAME, value: {{ $v.internalTLS.serverName | quote }}}
{{- end }}
{{- end -}}

{{/* A map as NAME=VALUE,NAME=VALUE. */}}
{{- define "flowforge.pairs" -}}
{{- $pairs := list -}}
{{- range $name, $value := . }}{{ $pairs = append $pairs (printf "%s=%s" $name $value) }}{{ end -}}
{{- join "," $pairs -}}
{{- end -}}
