{{- define "flowforge.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* One release per name: "flowforge" itself, or "RELEASE-flowforge". */}}
{{- define "flowforge.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "flowforge.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "flowforge.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Name of cluster-scoped objects: two installations may share a cluster. */}}
{{- define "flowforge.clusterName" -}}
{{- printf "%s-%s" .Release.Namespace (include "flowforge.fullname" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "flowforge.selector" -}}
app.kubernetes.io/name: {{ include "flowforge.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "flowforge.labels" -}}
{{ include "flowforge.selector" . }}
app.kubernetes.io/part-of: flowforge
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* Reference of an image: (dict "image" … "tag" …). */}}
{{- define "flowforge.image" -}}
{{- $i := .image -}}
{{- $name := ternary $i.repository (printf "%s/%s" $i.registry $i.repository) (empty $i.registry) -}}
{{- if $i.digest -}}{{ $name }}@{{ $i.digest }}{{- else -}}{{ $name }}:{{ default .tag $i.tag }}{{- end -}}
{{- end -}}

{{- define "flowforge.serverImage" -}}
{{- include "flowforge.image" (dict "image" .Values.image "tag" .Chart.AppVersion) -}}
{{- end -}}

{{/* The account of the servers that start pods. */}}
{{- define "flowforge.engineAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (printf "%s-engine" (include "flowforge.fullname" .)) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* The account of the other servers, which has no permissions in the cluster. */}}
{{- define "flowforge.serverAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (printf "%s-server" (include "flowforge.fullname" .)) .Values.serviceAccount.serverName -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.serverName -}}
{{- end -}}
{{- end -}}

{{/* Whether a server with these roles reviews tokens of the cluster: (dict "root" $ "roles" …). */}}
{{- define "flowforge.reviews" -}}
{{- if and .root.Values.kube.enabled .root.Values.kube.tokenAudience (contains "web" .roles) -}}yes{{- end -}}
{{- end -}}

{{/* Servers use mutual TLS. Without sign-in there is only one server. */}}
{{- define "flowforge.internalTLS" -}}
{{- if and .Values.internalTLS.existingSecret (include "flowforge.signIn" .) -}}yes{{- end -}}
{{- end -}}

{{/* The port where servers reach each other. */}}
{{- define "flowforge.hopPort" -}}
{{- ternary 8443 8080 (not (empty (include "flowforge.internalTLS" .))) -}}
{{- end -}}

{{- define "flowforge.keysSecret" -}}
{{- default (printf "%s-keys" (include "flowforge.fullname" .)) .Values.keys.existingSecret -}}
{{- end -}}

{{/* Secret with the key url: (dict "root" $ "name" "postgres"). */}}
{{- define "flowforge.urlSecret" -}}
{{- $own := printf "%s-%s" (include "flowforge.fullname" .root) .name -}}
{{- default $own (get .root.Values .name).existingSecret -}}
{{- end -}}

{{/* The roles of this topology. Each is a Deployment, with the role names of the server. */}}
{{- define "flowforge.roles" -}}
{{- if eq .Values.topology "single" -}}
single: web,worker,scheduler,launcher
{{- else -}}
web: web
worker: worker
scheduler: scheduler
launcher: launcher
{{- end -}}
{{- end -}}

{{/* The component whose pods serve people and tasks. */}}
{{- define "flowforge.front" -}}
{{- ternary "single" "web" (eq .Values.topology "single") -}}
{{- end -}}

{{- define "flowforge.signIn" -}}
{{- if or .Values.oidc.issuer .Values.oidc.existingFileSecret -}}yes{{- end -}}
{{- end -}}

{{- define "flowforge.taskURL" -}}
{{- printf "%s://%s-task.%s.svc:%v" (ternary "https" "http" .Values.task.tls.enabled) (include "flowforge.fullname" .) .Release.Namespace .Values.task.port -}}
{{- end -}}
