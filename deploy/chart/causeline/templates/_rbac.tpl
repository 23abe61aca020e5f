{{/*
The rights to list and watch, for the ServiceAccount of a component: in the whole cluster, or by a Role in each of some
namespaces. files/rules.json is made from collectors/watch/rbac.py by `make chart`.
Takes (list $ component (namespaces, include, exclude, writeEvents)).
*/}}
{{- define "causeline.watching" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
{{- $watched := index . 2 -}}
{{- $files := $root.Files.Get "files/rules.json" | fromJson -}}
{{- $exclude := $watched.exclude | default list -}}
{{- $rules := list -}}
{{- range $files.watching -}}
  {{- $group := first .apiGroups -}}
  {{- $kept := list -}}
  {{- range .resources -}}
    {{- if not (has (printf "%s.%s" . $group | trimSuffix ".") $exclude) }}{{ $kept = append $kept . }}{{ end -}}
  {{- end -}}
  {{- if $kept }}{{ $rules = append $rules (merge (dict "resources" $kept) .) }}{{ end -}}
{{- end -}}
{{- range $watched.include -}}
  {{- $named := splitn "." 2 . -}}
  {{- $rules = append $rules (dict "apiGroups" (list $named._1) "resources" (list $named._0) "verbs" (list "get" "list" "watch")) -}}
{{- end -}}
{{- if $watched.writeEvents -}}
{{- $rules = concat $rules $files.events -}}
{{- end -}}
{{- $kind := not (empty $watched.namespaces) | ternary "Role" "ClusterRole" -}}
{{- $name := printf "%s-%s" (include "causeline.name" $root) $component -}}
{{- if not $watched.namespaces -}}
{{- /* Objects of the cluster have no namespace, so their name contains that of the release. */ -}}
{{- $name = printf "%s-%s" $root.Release.Namespace $name -}}
{{- end -}}
{{- range $namespace := $watched.namespaces | default (list "") }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}
metadata:
  name: {{ $name }}
  {{- with $namespace }}
  namespace: {{ . }}
  {{- end }}
  {{- include "causeline.labels" (list $root $component) | nindent 2 }}
rules:
  {{- toYaml $rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}Binding
metadata:
  name: {{ $name }}
  {{- with $namespace }}
  namespace: {{ . }}
  {{- end }}
  {{- include "causeline.labels" (list $root $component) | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $kind }}
  name: {{ $name }}
subjects:
  - kind: ServiceAccount
    name: {{ include "causeline.name" $root }}-{{ $component }}
    namespace: {{ $root.Release.Namespace }}
{{- end }}
{{- end -}}
