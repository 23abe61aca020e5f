{{/*
A part whose Pods mount the shared volume. With ReadWriteOnce, only the Pods of one node can mount it, so they are kept
together there; the scheduler puts the first of them anywhere. Takes (list $ part), returns the part as YAML.
*/}}
{{- define "causeline.withData" -}}
{{- $root := index . 0 -}}
{{- $part := deepCopy (index . 1) -}}
{{- if eq $root.Values.data.accessMode "ReadWriteOnce" -}}
{{- $label := dict "causeline/shared-data" $root.Release.Name -}}
{{- $_ := set $part "podLabels" (merge (dict) $label ($part.podLabels | default dict)) -}}
{{- $term := dict "topologyKey" "kubernetes.io/hostname" "labelSelector" (dict "matchLabels" $label) -}}
{{- $affinity := $part.affinity | default dict -}}
{{- $pods := $affinity.podAffinity | default dict -}}
{{- $terms := append ($pods.requiredDuringSchedulingIgnoredDuringExecution | default list) $term -}}
{{- $_ := set $pods "requiredDuringSchedulingIgnoredDuringExecution" $terms -}}
{{- $_ := set $affinity "podAffinity" $pods -}}
{{- $_ := set $part "affinity" $affinity -}}
{{- $_ := set $part "spread" false -}}
{{- end -}}
{{- toYaml $part -}}
{{- end -}}
