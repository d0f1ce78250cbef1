{{/*
Values by the names of the design document, section 11.2. Each template calls this before it
reads a value. It writes the same result every time, so the order of the templates is irrelevant.
*/}}
{{- define "flowforge.aliases" -}}
{{- $v := .Values -}}
{{- $global := $v.global | default dict -}}
{{- with $global.imageRegistry }}{{ $_ := set $v.image "registry" . }}{{ end -}}
{{- with $global.imagePullSecrets -}}
{{- $secrets := list -}}
{{- range . }}{{ $secrets = append $secrets (ternary (dict "name" .) . (kindIs "string" .)) }}{{ end -}}
{{- $_ := set $v "imagePullSecrets" $secrets -}}
{{- end -}}
{{- with $global.storageClass -}}
{{- $_ := set $v.postgres.storage "storageClass" . -}}
{{- $_ := set $v.clickhouse.storage "storageClass" . -}}
{{- end -}}
{{- include "flowforge.aliases.tag" $v -}}
{{- include "flowforge.aliases.roles" $v -}}
{{- include "flowforge.aliases.data" $v -}}
{{- with $v.monitoring -}}
{{- if dig "prometheus" "serviceMonitor" "enabled" false . }}{{ $_ := set $v.metrics.serviceMonitor "enabled" true }}{{ end -}}
{{- if dig "grafana" "enabled" false . }}{{ $_ := set $v.metrics.dashboards "enabled" true }}{{ end -}}
{{- end -}}
{{- with $v.rbac.serviceAccount -}}
{{- if hasKey . "create" }}{{ $_ := set $v.serviceAccount "create" .create }}{{ end -}}
{{- with .name }}{{ $_ := set $v.serviceAccount "name" . }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* All components of the document are one image, so they have one tag. */}}
{{- define "flowforge.aliases.tag" -}}
{{- $tags := list -}}
{{- range $name := list "apiServer" "controller" "scheduler" "executor" "statusCollector" "logAggregator" -}}
{{- with dig "image" "tag" "" (get $ $name | default dict) }}{{ $tags = append $tags . }}{{ end -}}
{{- end -}}
{{- if gt (len (uniq $tags)) 1 -}}
{{- fail (printf "apiServer.image.tag, controller.image.tag and the others differ (%s): all components are one image, so use image.tag" (join ", " (uniq $tags))) -}}
{{- end -}}
{{- range $tags }}{{ $_ := set $.image "tag" . }}{{ end -}}
{{- end -}}

{{/* The API server is the role web, controller and scheduler are the role scheduler, and the
executor is the role launcher. */}}
{{- define "flowforge.aliases.roles" -}}
{{- with .apiServer -}}
{{- with .replicaCount }}{{ $_ := set $.web "replicas" . }}{{ end -}}
{{- with .resources }}{{ $_ := set $.web "resources" . }}{{ end -}}
{{- range $from, $to := dict "enabled" "enabled" "minReplicas" "minReplicas" "maxReplicas" "maxReplicas" "targetCPU" "targetCPUUtilizationPercentage" -}}
{{- if hasKey ($.apiServer.hpa | default dict) $from }}{{ $_ := set $.web.autoscaling $to (get $.apiServer.hpa $from) }}{{ end -}}
{{- end -}}
{{- range $name, $value := .service }}{{ $_ := set $.service $name $value }}{{ end -}}
{{- with .ingress -}}
{{- if hasKey . "enabled" }}{{ $_ := set $.ingress "enabled" .enabled }}{{ end -}}
{{- with .className }}{{ $_ := set $.ingress "className" . }}{{ end -}}
{{- if gt (len (.hosts | default list)) 1 }}{{ fail "apiServer.ingress.hosts has several hosts: FlowForge has one public address, publicURL" }}{{ end -}}
{{- range .hosts }}{{ $_ := set $.ingress "host" .host }}{{ end -}}
{{- end -}}
{{- end -}}
{{- $replicas := max (dig "replicaCount" 0 (.controller | default dict)) (.scheduler.replicaCount | default 0) -}}
{{- if $replicas }}{{ $_ := set .scheduler "replicas" $replicas }}{{ end -}}
{{- with dig "resources" dict (.controller | default dict) }}{{ $_ := set $.scheduler "resources" . }}{{ end -}}
{{- with .executor -}}
{{- with .replicaCount }}{{ $_ := set $.launcher "replicas" . }}{{ end -}}
{{- with .resources }}{{ $_ := set $.launcher "resources" . }}{{ end -}}
{{- end -}}
{{- end -}}

{{- define "flowforge.aliases.data" -}}
{{- with .postgresql -}}
{{- if hasKey . "enabled" }}{{ $_ := set $.postgres "enabled" .enabled }}{{ end -}}
{{- with dig "primary" "persistence" "size" "" . }}{{ $_ := set $.postgres.storage "size" . }}{{ end -}}
{{- end -}}
{{- with dig "persistence" "size" "" .clickhouse }}{{ $_ := set $.clickhouse.storage "size" . }}{{ end -}}
{{- range $name, $auth := dict "postgres" (dig "auth" dict (.postgresql | default dict)) "clickhouse" (.clickhouse.auth | default dict) -}}
{{- $db := get $ $name -}}
{{- if not $db.enabled }}{{ with $auth.existingSecret }}{{ $_ := set $db "existingSecret" . }}{{ end }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* Values of the document that have no effect, for the notes. */}}
{{- define "flowforge.aliases.unused" -}}
{{- $v := .Values -}}
{{- $unused := list -}}
{{- range $name := list "statusCollector" "logAggregator" "redis" -}}
{{- if get $v $name }}{{ $unused = append $unused $name }}{{ end -}}
{{- end -}}
{{- range $path := list "apiServer.image.repository" "controller.image.repository" "controller.leaderElection" "scheduler.image.repository" "scheduler.config" "executor.image.repository" "executor.sdkImage" "postgresql.architecture" "postgresql.readReplicas" "clickhouse.replicaCount" "clickhouse.shards" "monitoring.grafana.dashboards" -}}
{{- $at := $v -}}
{{- range splitList "." $path }}{{ $at = get ($at | default dict) . }}{{ end -}}
{{- if $at }}{{ $unused = append $unused $path }}{{ end -}}
{{- end -}}
{{- if and $v.postgres.enabled (dig "auth" dict ($v.postgresql | default dict)) }}{{ $unused = append $unused "postgresql.auth" }}{{ end -}}
{{- if and $v.clickhouse.enabled $v.clickhouse.auth }}{{ $unused = append $unused "clickhouse.auth" }}{{ end -}}
{{- join ", " (sortAlpha $unused) -}}
{{- end -}}
