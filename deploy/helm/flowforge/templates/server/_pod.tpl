{{/* The pod of a server: (dict "root" $ "name" "web" "roles" "web"). */}}
{{- define "flowforge.pod" -}}
{{- $v := .root.Values -}}
{{- $role := get $v .name -}}
{{- $full := include "flowforge.fullname" .root -}}
{{- $starts := and $v.kube.enabled (or (contains "scheduler" .roles) (contains "launcher" .roles)) -}}
metadata:
  labels:
    {{- include "flowforge.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .name }}
    flowforge.io/server: "true"
    {{- with $v.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    # Restart the pods when settings change that the server reads only at its start.
    checksum/secrets: {{ list $v.postgres.url $v.postgres.password $v.clickhouse.url $v.clickhouse.password $v.oidc.clientSecret | toJson | sha256sum }}
    {{- if and $starts $v.kube.imageCommands }}
    checksum/images: {{ toJson $v.kube.imageCommands | sha256sum }}
    {{- end }}
    {{- with $role.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  {{- with $v.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  serviceAccountName: {{ if $starts }}{{ include "flowforge.engineAccount" .root }}{{ else }}{{ include "flowforge.serverAccount" .root }}{{ end }}
  automountServiceAccountToken: {{ or $starts (not (empty (include "flowforge.reviews" .))) }}
  enableServiceLinks: false
  securityContext: {{- toYaml $v.podSecurityContext | nindent 4 }}
  terminationGracePeriodSeconds: {{ $v.terminationGracePeriodSeconds }}
  {{- with $v.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with $role.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $role.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $role.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "flowforge.selector" .root | nindent 10 }}
          app.kubernetes.io/component: {{ .name }}
  containers:
    - name: flowforge
      image: {{ include "flowforge.serverImage" .root | quote }}
      imagePullPolicy: {{ $v.image.pullPolicy }}
      args: [serve]
      env: {{- include "flowforge.env" . | nindent 8 }}
      {{- with $v.extraEnvFrom }}
      envFrom: {{- toYaml . | nindent 8 }}
      {{- end }}
      ports:
        - {name: http, containerPort: 8080}
        {{- if and $v.kube.enabled (contains "web" .roles) }}
        - {name: task, containerPort: {{ $v.task.port }}}
        {{- end }}
        - {name: metrics, containerPort: {{ $v.metrics.port }}}
        {{- if include "flowforge.internalTLS" .root }}
        - {name: internal, containerPort: {{ include "flowforge.hopPort" .root }}}
        {{- end }}
      {{- include "flowforge.probes" . | nindent 6 }}
      resources: {{- toYaml $role.resources | nindent 8 }}
      securityContext: {{- toYaml $v.securityContext | nindent 8 }}
      volumeMounts:
        - {name: data, mountPath: /var/lib/flowforge}
        - {name: tmp, mountPath: /tmp}
        - {name: keys, mountPath: /etc/flowforge/keys, readOnly: true}
        {{- if $v.artifacts.existingClaim }}
        - {name: artifacts, mountPath: /var/lib/flowforge/artifacts}
        {{- end }}
        {{- if $v.oidc.existingFileSecret }}
        - {name: oidc, mountPath: /etc/flowforge/oidc, readOnly: true}
        {{- end }}
        {{- if and $v.task.tls.enabled $v.kube.enabled (contains "web" .roles) }}
        - {name: task-tls, mountPath: /etc/flowforge/task-tls, readOnly: true}
        {{- end }}
        {{- if and $v.task.tls.enabled $starts }}
        - {name: pod-tls, mountPath: /etc/flowforge/pod-tls, readOnly: true}
        {{- end }}
        {{- if and $v.kube.registrySecret $starts }}
        - {name: registries, mountPath: /etc/flowforge/registries, readOnly: true}
        {{- end }}
        {{- if and $v.kube.imageCommands $starts }}
        - {name: images, mountPath: /etc/flowforge/images, readOnly: true}
        {{- end }}
        {{- if include "flowforge.internalTLS" .root }}
        - {name: internal-tls, mountPath: /etc/flowforge/internal-tls, readOnly: true}
        {{- end }}
  volumes:
    - name: data
      emptyDir: {sizeLimit: {{ printf "%dMi" (add (int $v.spool.maxMiB) 1024) }}}
    - {name: tmp, emptyDir: {sizeLimit: 2Gi}}
    - name: keys
      secret: {secretName: {{ include "flowforge.keysSecret" .root }}, defaultMode: 0440}
    {{- with $v.artifacts.existingClaim }}
    - {name: artifacts, persistentVolumeClaim: {claimName: {{ . }}}}
    {{- end }}
    {{- with $v.oidc.existingFileSecret }}
    - {name: oidc, secret: {secretName: {{ . }}, defaultMode: 0440}}
    {{- end }}
    {{- if and $v.task.tls.enabled $v.kube.enabled (contains "web" .roles) }}
    - {name: task-tls, secret: {secretName: {{ $v.task.tls.existingSecret }}, defaultMode: 0440}}
    {{- end }}
    {{- if and $v.task.tls.enabled $starts }}
    # Files that are passed to pods of tasks, without the key of the server.
    - name: pod-tls
      projected:
        defaultMode: 0440
        sources:
          - secret: {name: {{ $v.task.tls.existingSecret }}, items: [{key: ca.crt, path: ca.crt}]}
          {{- with $v.task.tls.clientSecret }}
          - secret: {name: {{ . }}, items: [{key: tls.crt, path: tls.crt}, {key: tls.key, path: tls.key}]}
          {{- end }}
    {{- end }}
    {{- if and $v.kube.registrySecret $starts }}
    - name: registries
      secret: {secretName: {{ $v.kube.registrySecret }}, defaultMode: 0440, items: [{key: .dockerconfigjson, path: config.json}]}
    {{- end }}
    {{- if and $v.kube.imageCommands $starts }}
    - {name: images, configMap: {name: {{ include "flowforge.fullname" .root }}-images}}
    {{- end }}
    {{- if include "flowforge.internalTLS" .root }}
    - {name: internal-tls, secret: {secretName: {{ $v.internalTLS.existingSecret }}, defaultMode: 0440}}
    {{- end }}
{{- end -}}

{{/* Without sign-in, the server listens on the pod's loopback address. port-forward can reach it
but the kubelet cannot, so the probe runs a command in the container. */}}
{{- define "flowforge.probes" -}}
startupProbe:
  {{- include "flowforge.probe" (dict "root" .root "path" "/healthz") | nindent 2 }}
  periodSeconds: 2
  timeoutSeconds: 5
  failureThreshold: 90
livenessProbe:
  {{- include "flowforge.probe" (dict "root" .root "path" "/healthz") | nindent 2 }}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  {{- include "flowforge.probe" (dict "root" .root "path" "/readyz") | nindent 2 }}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 2
{{- end -}}

{{- define "flowforge.probe" -}}
{{- if include "flowforge.signIn" .root -}}
httpGet: {path: {{ .path }}, port: http}
{{- else -}}
exec:
  command: [python3, -c, "import urllib.request as r; r.urlopen('http://127.0.0.1:8080{{ .path }}', timeout=4)"]
{{- end -}}
{{- end -}}
