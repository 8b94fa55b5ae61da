{{- /*
What values change of the objects that stand in objects/, which are copies of deploy/. Each takes {object, root} and changes the
object in place; none makes an object. What no value names stays as deploy/ has it.
*/ -}}

{{- define "gitops-mc.changed" -}}
{{- include "gitops-mc.namespaced" . -}}
{{- $kind := .object.kind -}}
{{- if eq $kind "CustomResourceDefinition" -}}{{- include "gitops-mc.kept" . -}}
{{- else if eq $kind "Deployment" -}}{{- include "gitops-mc.deployment" . -}}
{{- else if eq $kind "NetworkPolicy" -}}{{- include "gitops-mc.network" . -}}
{{- else if eq $kind "ServiceMonitor" -}}{{- include "gitops-mc.scraped" . -}}
{{- else if eq $kind "PrometheusRule" -}}{{- include "gitops-mc.alerts" . -}}
{{- end -}}
{{- end -}}

{{- /* deploy/ names the namespace gitops-mc; here it is the release's. cpaas-system is the platform's and stays. */ -}}
{{- define "gitops-mc.namespaced" -}}
{{- if eq (default "" .object.metadata.namespace) "gitops-mc" -}}
{{- $_ := set .object.metadata "namespace" .root.Release.Namespace -}}
{{- end -}}
{{- range .object.subjects -}}
{{- $_ := set . "namespace" $.root.Release.Namespace -}}
{{- end -}}
{{- end -}}

{{- /* Without definitions there are no Fleets, and with the Fleets goes what is remembered of every cluster. */ -}}
{{- define "gitops-mc.kept" -}}
{{- $annotations := default dict .object.metadata.annotations -}}
{{- $_ := set .object.metadata "annotations" (merge (dict "helm.sh/resource-policy" "keep") $annotations) -}}
{{- end -}}

{{- define "gitops-mc.deployment" -}}
{{- $values := .root.Values -}}
{{- $pod := .object.spec.template.spec -}}
{{- $container := first $pod.containers -}}
{{- $_ := set .object.spec "replicas" ($values.replicas | int) -}}
{{- $image := printf "%s:%s" $values.image.repository (default .root.Chart.AppVersion $values.image.tag) -}}
{{- if $values.image.digest -}}{{- $image = printf "%s@%s" $values.image.repository $values.image.digest -}}{{- end -}}
{{- $_ := set $container "image" $image -}}
{{- with $values.image.pullPolicy -}}{{- $_ := set $container "imagePullPolicy" . -}}{{- end -}}
{{- with $values.imagePullSecrets -}}{{- $_ := set $pod "imagePullSecrets" . -}}{{- end -}}
{{- if ne $values.logLevel "info" -}}
{{- $_ := set $container "args" (append $container.args (printf "--log-level=%s" $values.logLevel)) -}}
{{- end -}}
{{- $_ := set $container "env" (concat $container.env $values.env) -}}
{{- $_ := set $pod "volumes" (concat $pod.volumes $values.volumes) -}}
{{- $_ := set $container "volumeMounts" (concat $container.volumeMounts $values.volumeMounts) -}}
{{- with $values.resources -}}{{- $_ := set $container "resources" . -}}{{- end -}}
{{- range $pod.volumes -}}
{{- if eq .name "cache" -}}{{- $_ := set .emptyDir "sizeLimit" $values.cacheSize -}}{{- end -}}
{{- end -}}
{{- if $values.priorityClassName -}}{{- $_ := set $pod "priorityClassName" $values.priorityClassName -}}
{{- else -}}{{- $_ := unset $pod "priorityClassName" -}}{{- end -}}
{{- with $values.nodeSelector -}}{{- $_ := set $pod "nodeSelector" . -}}{{- end -}}
{{- with $values.tolerations -}}{{- $_ := set $pod "tolerations" . -}}{{- end -}}
{{- end -}}

{{- define "gitops-mc.network" -}}
{{- $values := .root.Values.networkPolicy -}}
{{- range .object.spec.ingress -}}
{{- $port := (first .ports).port -}}
{{- $from := ternary $values.probesFrom $values.webhookFrom (eq $port "probes") -}}
{{- if $from -}}{{- $_ := set . "from" $from -}}{{- end -}}
{{- end -}}
{{- if $values.egress -}}{{- $_ := set .object.spec "egress" $values.egress -}}{{- end -}}
{{- end -}}

{{- define "gitops-mc.scraped" -}}
{{- $values := .root.Values.monitoring -}}
{{- $_ := set .object.metadata "labels" (merge (deepCopy $values.labels) .object.metadata.labels) -}}
{{- range .object.spec.endpoints -}}{{- $_ := set . "interval" $values.interval -}}{{- end -}}
{{- end -}}

{{- define "gitops-mc.alerts" -}}
{{- $values := .root.Values.monitoring -}}
{{- $_ := set .object.metadata "labels" (merge (deepCopy $values.labels) .object.metadata.labels) -}}
{{- range .object.spec.groups -}}
{{- range .rules -}}
{{- $_ := set .annotations "runbook_url" (printf "%s%s" $values.runbooks .annotations.runbook_url) -}}
{{- end -}}
{{- end -}}
{{- end -}}
