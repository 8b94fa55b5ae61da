{{- /*
What the schema cannot say of the values, each problem a line: what two values have to be to each other, what the chart has taken for
itself, and addresses. All of it makes an object that the API server refuses, or a pod that does not run.
*/ -}}

{{- define "gitops-mc.refused" -}}
{{- $deployment := fromYaml (.Files.Get "objects/base/deployment.yaml") -}}
{{- $pod := $deployment.spec.template.spec -}}
{{- $given := dict "values" .Values "pod" $pod "container" (first $pod.containers) -}}
{{- include "gitops-mc.refused.env" $given -}}
{{- include "gitops-mc.refused.volumes" $given -}}
{{- include "gitops-mc.refused.mounts" $given -}}
{{- include "gitops-mc.refused.resources" $given -}}
{{- include "gitops-mc.refused.network" .Values.networkPolicy -}}
{{- end -}}

{{- define "gitops-mc.refused.env" -}}
{{- $names := list -}}
{{- range .container.env -}}{{- $names = append $names .name -}}{{- end -}}
{{- $ours := $names -}}
{{- range $n, $one := .values.env -}}
{{- if has $one.name $ours }}
- env.{{ $n }}.name: {{ $one.name }} is set by the chart, from the pod itself; take it out
{{- else if has $one.name $names }}
- env.{{ $n }}.name: {{ $one.name }} stands there twice; take one of the two out
{{- end -}}
{{- $names = append $names $one.name -}}
{{- end -}}
{{- end -}}

{{- define "gitops-mc.refused.volumes" -}}
{{- $names := list -}}
{{- range .pod.volumes -}}{{- $names = append $names .name -}}{{- end -}}
{{- $ours := $names -}}
{{- range $n, $one := .values.volumes -}}
{{- if has $one.name $ours }}
- volumes.{{ $n }}.name: the chart has a volume {{ $one.name }} of its own; take another name
{{- else if has $one.name $names }}
- volumes.{{ $n }}.name: there are two volumes {{ $one.name }}; give one another name
{{- end -}}
{{- $names = append $names $one.name -}}
{{- end -}}
{{- end -}}

{{- /* What the pod needs, and a mount at or above it would hide: the program, what it runs, and what the kubelet mounts. */ -}}
{{- define "gitops-mc.refused.mounts" -}}
{{- $needed := list "/opt/gitops-mc" "/bin" "/lib" "/usr/bin" "/usr/lib" "/usr/local/bin" "/usr/local/lib" "/etc/passwd" "/proc" "/sys"
  "/dev" "/run/secrets/kubernetes.io/serviceaccount" "/var/run/secrets/kubernetes.io/serviceaccount" -}}
{{- $paths := list -}}
{{- range .container.volumeMounts -}}{{- $paths = append $paths .mountPath -}}{{- end -}}
{{- $ours := $paths -}}
{{- $volumes := list -}}
{{- range concat .pod.volumes .values.volumes -}}{{- $volumes = append $volumes .name -}}{{- end -}}
{{- range $n, $one := .values.volumeMounts -}}
{{- $path := clean (regexReplaceAll "/+" $one.mountPath "/") -}}
{{- if not (has $one.name $volumes) }}
- volumeMounts.{{ $n }}.name: there is no volume {{ $one.name }}; there are {{ join ", " $volumes }}
{{- end -}}
{{- if has $path $ours }}
- volumeMounts.{{ $n }}.mountPath: the chart has mounted a volume of its own at {{ $path }}; take another path
{{- else if has $path $paths }}
- volumeMounts.{{ $n }}.mountPath: {{ $path }} stands there twice; take another path for one of the two
{{- end -}}
{{- range concat $needed $ours -}}
{{- if or (hasPrefix (printf "%s/" (trimSuffix "/" $path)) .) (and (eq $path .) (not (has . $ours)))
    (and (has . (list "/proc" "/sys" "/dev")) (hasPrefix (printf "%s/" .) $path)) }}
- volumeMounts.{{ $n }}.mountPath: a volume at {{ $path }} is in the way of {{ . }}, which the program needs; take another path
{{- break -}}
{{- end -}}
{{- end -}}
{{- $paths = append $paths $path -}}
{{- end -}}
{{- end -}}

{{- define "gitops-mc.refused.resources" -}}
{{- $least := float64 (include "gitops-mc.amount" "64Mi") -}}
{{- $resources := default .container.resources .values.resources -}}
{{- $limits := default dict $resources.limits -}}
{{- range $name, $wanted := $resources.requests -}}
{{- if hasKey $limits $name -}}
{{- if gt (float64 (include "gitops-mc.amount" $wanted)) (float64 (include "gitops-mc.amount" (get $limits $name))) }}
- resources.requests.{{ $name }}: {{ toJson $wanted | trimAll "\"" }} is more than resources.limits.{{ $name }}, {{ get $limits $name | toJson | trimAll "\"" }}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with $limits.memory -}}
{{- if lt (float64 (include "gitops-mc.amount" .)) $least }}
- resources.limits.memory: the program does not start with {{ toJson . | trimAll "\"" }}; it takes more than 64Mi
{{- end -}}
{{- end -}}
{{- $cache := float64 (include "gitops-mc.amount" .values.cacheSize) -}}
{{- if lt $cache $least }}
- cacheSize: {{ toJson .values.cacheSize | trimAll "\"" }} holds no repository; give it 64Mi or more
{{- end -}}
{{- with index $limits "ephemeral-storage" -}}
{{- if ge $cache (float64 (include "gitops-mc.amount" .)) }}
- cacheSize: {{ toJson $.values.cacheSize | trimAll "\"" }} is not less than the limit of ephemeral-storage, {{ toJson . | trimAll "\"" }}, against which it counts: the pod would be evicted before its cache is full; take less, or set resources.limits with more
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* An amount as Kubernetes writes it, as a number. */ -}}
{{- define "gitops-mc.amount" -}}
{{- if kindIs "string" . -}}
{{- $number := regexFind "^[0-9.]+" . -}}
{{- $units := dict "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 -}}
{{- mulf (float64 $number) (default 1.0 (get $units (trimPrefix $number .))) | printf "%f" -}}
{{- else -}}
{{- float64 . | printf "%f" -}}
{{- end -}}
{{- end -}}

{{- define "gitops-mc.refused.network" -}}
{{- include "gitops-mc.refused.peers" (dict "at" "networkPolicy.probesFrom" "peers" .probesFrom) -}}
{{- include "gitops-mc.refused.peers" (dict "at" "networkPolicy.webhookFrom" "peers" .webhookFrom) -}}
{{- range $n, $rule := .egress -}}
{{- include "gitops-mc.refused.peers" (dict "at" (printf "networkPolicy.egress.%d.to" $n) "peers" $rule.to) -}}
{{- range $m, $one := $rule.ports -}}
{{- if $one.endPort -}}
{{- if lt (int $one.endPort) (int $one.port) }}
- networkPolicy.egress.{{ $n }}.ports.{{ $m }}.endPort: {{ int $one.endPort }} is less than the port, {{ int $one.port }}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "gitops-mc.refused.peers" -}}
{{- range $n, $peer := .peers -}}
{{- with $peer.ipBlock -}}
{{- $at := printf "%s.%d.ipBlock" $.at $n -}}
{{- $whole := include "gitops-mc.cidr" .cidr | fromJson -}}
{{- with $whole.wrong }}
- {{ $at }}.cidr: {{ . }}
{{- end -}}
{{- range $m, $cidr := .except -}}
{{- $part := include "gitops-mc.cidr" $cidr | fromJson -}}
{{- if $part.wrong }}
- {{ $at }}.except.{{ $m }}: {{ $part.wrong }}
{{- else if not $whole.wrong -}}
{{- if ne "within" (include "gitops-mc.within" (dict "part" $part "whole" $whole)) }}
- {{ $at }}.except.{{ $m }}: {{ $cidr }} is not a part of {{ $peer.ipBlock.cidr }}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* {groups, bits} of a CIDR, as JSON: its address in groups of 16 bits, and how many bits are the network's; or {wrong}. */ -}}
{{- define "gitops-mc.cidr" -}}
{{- $groups := list -}}
{{- $octet := "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])" -}}
{{- $address := first (splitList "/" .) -}}
{{- if regexMatch (printf "^(%s\\.){3}%s/(3[0-2]|[12]?[0-9])$" $octet $octet) . -}}
{{- $four := splitList "." $address -}}
{{- range $n := list 0 2 -}}
{{- $groups = append $groups (add (mul 256 (index $four $n | int64)) (index $four (add $n 1 | int) | int64)) -}}
{{- end -}}
{{- else if regexMatch "^([0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4})*)?(::)?([0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4})*)?/(12[0-8]|1[01][0-9]|[1-9]?[0-9])$" . -}}
{{- $halves := splitList "::" $address -}}
{{- $left := splitList ":" (first $halves) | compact -}}
{{- $right := list -}}
{{- if eq (len $halves) 2 -}}{{- $right = splitList ":" (last $halves) | compact -}}{{- end -}}
{{- $missing := sub 8 (add (len $left) (len $right)) | int -}}
{{- if or (and (eq (len $halves) 2) (ge $missing 1)) (and (eq (len $halves) 1) (eq $missing 0)) -}}
{{- $zeros := list -}}
{{- range until $missing -}}{{- $zeros = append $zeros "0" -}}{{- end -}}
{{- range concat $left $zeros $right -}}{{- $groups = append $groups (printf "0x%s" . | int64) -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- if not $groups -}}
{{- dict "wrong" (printf "%q is no CIDR, such as 10.0.0.0/8 or fd00::/8" .) | toJson -}}
{{- else -}}
{{- $bits := last (splitList "/" .) | int -}}
{{- $beyond := false -}}
{{- range $n, $group := $groups -}}
{{- if ne 0 (mod $group (include "gitops-mc.span" (dict "bits" $bits "group" $n)) | int) -}}{{- $beyond = true -}}{{- end -}}
{{- end -}}
{{- if $beyond -}}
{{- dict "wrong" (printf "%s has bits beyond the first %d; write the address of the network" . $bits) | toJson -}}
{{- else -}}
{{- dict "groups" $groups "bits" $bits | toJson -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* How many addresses of this group of 16 bits are one to a network of so many bits. */ -}}
{{- define "gitops-mc.span" -}}
{{- $of := sub (mul 16 (add .group 1)) .bits | max 0 | min 16 | int -}}
{{- index (list 1 2 4 8 16 32 64 128 256 512 1024 2048 4096 8192 16384 32768 65536) $of -}}
{{- end -}}

{{- define "gitops-mc.within" -}}
{{- $whole := .whole -}}
{{- $within := and (eq (len .part.groups) (len $whole.groups)) (gt (int .part.bits) (int $whole.bits)) -}}
{{- if $within -}}
{{- range $n, $group := .part.groups -}}
{{- $span := include "gitops-mc.span" (dict "bits" (int $whole.bits) "group" $n) -}}
{{- if ne (div $group $span) (div (index $whole.groups $n) $span) -}}{{- $within = false -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- ternary "within" "" $within -}}
{{- end -}}
