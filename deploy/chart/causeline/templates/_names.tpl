{{/* The beginning of the names of all objects. */}}
{{- define "causeline.name" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains "causeline" .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-causeline" .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The labels by which Pods of a component are selected. Takes (list $ component). */}}
{{- define "causeline.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: causeline
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* The labels and annotations of an object, and its name. Takes (list $ component). The component "" is the whole release. */}}
{{- define "causeline.metadata" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
name: {{ include "causeline.name" $root }}{{ with $component }}-{{ . }}{{ end }}
namespace: {{ $root.Release.Namespace }}
{{ include "causeline.labels" (list $root $component) }}
{{- with $root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "causeline.labels" -}}
{{- $root := index . 0 -}}
labels:
  app.kubernetes.io/name: causeline
  app.kubernetes.io/instance: {{ $root.Release.Name }}
  {{- with index . 1 }}
  app.kubernetes.io/component: {{ . }}
  {{- end }}
  app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ $root.Release.Service }}
  helm.sh/chart: {{ $root.Chart.Name }}-{{ $root.Chart.Version }}
  {{- with $root.Values.commonLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "causeline.image" -}}
{{- $image := .Values.image -}}
{{- $named := required "image.repository is empty: set it to where your image is (`make image-push` builds and pushes one)." $image.repository -}}
{{- $named }}:{{ $image.tag | default .Chart.AppVersion }}{{ with $image.digest }}@{{ . }}{{ end }}
{{- end -}}

{{/* The name of the Secret of the server. */}}
{{- define "causeline.secret" -}}
{{- required "server.existingSecret is empty: create a Secret as docs/how-to/install-with-helm.md says, and name it here." .Values.server.existingSecret -}}
{{- end -}}
