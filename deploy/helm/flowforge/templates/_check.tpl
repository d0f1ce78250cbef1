{{/* Refuses values that would start but not work, and names the value to set. */}}
{{- define "flowforge.check" -}}
{{- $v := .Values -}}
{{- if and (eq $v.topology "roles") (not (include "flowforge.signIn" .)) -}}
{{- fail "oidc.issuer is not set: without sign-in, the server listens on the pod's loopback address only. Set oidc, or topology=single for a trial." -}}
{{- end -}}
{{- if and (include "flowforge.signIn" .) (not $v.publicURL) -}}
{{- fail "publicURL is not set: sign-in needs the public address of the server, such as https://forge.example.com" -}}
{{- end -}}
{{- if and (eq $v.topology "single") (gt (int $v.single.replicas) 1) (not (include "flowforge.signIn" .)) -}}
{{- fail "single.replicas must be 1 without sign-in" -}}
{{- end -}}
{{- if and $v.oidc.issuer (not $v.oidc.clientID) -}}
{{- fail "oidc.clientID is not set" -}}
{{- end -}}
{{- if and (not $v.kube.enabled) (ne $v.topology "single") -}}
{{- fail "kube.enabled=false runs tasks inside the pod, which requires topology=single" -}}
{{- end -}}
{{- range $name := list "postgres" "clickhouse" -}}
{{- $db := get $v $name -}}
{{- if and (not $db.enabled) (not $db.url) (not $db.existingSecret) -}}
{{- fail (printf "%s.url or %s.existingSecret is required when %s.enabled is false" $name $name $name) -}}
{{- end -}}
{{- end -}}
{{- if and (eq $v.topology "roles") (not $v.artifacts.s3.bucket) (not $v.artifacts.existingClaim) -}}
{{- fail "artifacts.s3.bucket or artifacts.existingClaim is required, because replicas share the files of tasks" -}}
{{- end -}}
{{- if and $v.task.tls.enabled (not $v.task.tls.existingSecret) -}}
{{- fail "task.tls.existingSecret is required with task.tls.enabled (keys tls.crt, tls.key, ca.crt)" -}}
{{- end -}}
{{- if and $v.task.tls.clientSecret (not $v.task.tls.enabled) -}}
{{- fail "task.tls.clientSecret requires task.tls.enabled" -}}
{{- end -}}
{{- if ne (empty $v.kube.tokenAudience) (empty $v.kube.tokenAccounts) -}}
{{- fail "kube.tokenAudience and kube.tokenAccounts are set together" -}}
{{- end -}}
{{- if and $v.ingress.enabled (not $v.publicURL) (not $v.ingress.host) -}}
{{- fail "ingress.host or publicURL is required with ingress.enabled" -}}
{{- end -}}
{{- end -}}
