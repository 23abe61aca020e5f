{{/* The metadata of a Pod. Takes (list $ component part), where the part has podLabels and podAnnotations. */}}
{{- define "causeline.podMetadata" -}}
{{- $root := index . 0 -}}
{{- $part := index . 2 -}}
labels:
  {{- include "causeline.selector" . | nindent 2 }}
  {{- with $part.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with $part.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* What a Pod of Causeline's image may do and where it runs. Takes (list $ component part). */}}
{{- define "causeline.podSettings" -}}
{{- $root := index . 0 -}}
{{- $part := index . 2 -}}
securityContext:
  {{- include "causeline.podSecurity" 10001 | nindent 2 }}
enableServiceLinks: false
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $part.terminationGracePeriodSeconds }}
terminationGracePeriodSeconds: {{ . }}
{{- end }}
{{- with $part.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $part.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $part.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $part.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if $part.spread }}
topologySpreadConstraints:
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "causeline.selector" $ | nindent 8 }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* The profile "restricted" of the Pod Security Standards, for a Pod and for a container. Takes the id of the user. */}}
{{- define "causeline.podSecurity" -}}
runAsNonRoot: true
runAsUser: {{ . }}
runAsGroup: {{ . }}
fsGroup: {{ . }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "causeline.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  capabilities: {drop: [ALL]}
  privileged: false
  readOnlyRootFilesystem: true
  runAsNonRoot: true
  seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{/* Image and rights of a container of Causeline's image. */}}
{{- define "causeline.container" -}}
image: {{ include "causeline.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{ include "causeline.containerSecurity" . }}
{{- end -}}

{{/* The probes of workers and beat: each touches the file while it works. */}}
{{- define "causeline.heartbeatProbes" -}}
startupProbe:
  exec: &heartbeat {command: [sh, -c, "find /tmp/heartbeat -mmin -2 | grep -q ."]}
  periodSeconds: 5
  failureThreshold: 24
livenessProbe:
  exec: *heartbeat
  periodSeconds: 30
  timeoutSeconds: 5
  failureThreshold: 3
{{- end -}}

{{/* The environment of every part of the server. Takes (list $ part). */}}
{{- define "causeline.environment" -}}
{{- $root := index . 0 -}}
{{- $part := index . 1 -}}
{{- $values := $root.Values -}}
{{- $server := $values.server -}}
{{- $secret := include "causeline.secret" $root -}}
{{- $hosts := required "server.hosts is empty: name the host under which browsers reach Causeline, such as causeline.example.org." (first $server.hosts) -}}
- {name: CAUSELINE_SECRET_KEY, valueFrom: {secretKeyRef: {name: {{ $secret }}, key: CAUSELINE_SECRET_KEY}}}
- {name: CAUSELINE_CREDENTIALS_KEY, valueFrom: {secretKeyRef: {name: {{ $secret }}, key: CAUSELINE_CREDENTIALS_KEY, optional: true}}}
{{- if $values.postgresql.embedded }}
- {name: POSTGRES_PASSWORD, valueFrom: {secretKeyRef: {name: {{ $secret }}, key: POSTGRES_PASSWORD}}}
- {name: DATABASE_URL, value: "postgresql://causeline:$(POSTGRES_PASSWORD)@{{ include "causeline.name" $root }}-postgresql:5432/causeline"}
{{- else }}
- {name: DATABASE_URL, valueFrom: {secretKeyRef: {name: {{ $values.database.existingSecret | default $secret }}, key: {{ $values.database.key }}}}}
{{- end }}
{{- with $values.database.directKey }}
- {name: CAUSELINE_DATABASE_DIRECT_URL, valueFrom: {secretKeyRef: {name: {{ $values.database.existingSecret | default $secret }}, key: {{ . }}}}}
{{- end }}
{{- if $values.valkey.embedded }}
- {name: VALKEY_PASSWORD, valueFrom: {secretKeyRef: {name: {{ $secret }}, key: VALKEY_PASSWORD}}}
- {name: REDIS_URL, value: "redis://:$(VALKEY_PASSWORD)@{{ include "causeline.name" $root }}-valkey:6379/0"}
{{- else }}
- {name: REDIS_URL, valueFrom: {secretKeyRef: {name: {{ $values.broker.existingSecret | default $secret }}, key: {{ $values.broker.key }}}}}
{{- end }}
- {name: CAUSELINE_HOSTS, value: {{ append $server.hosts "127.0.0.1" | join "," | quote }}}
- {name: CAUSELINE_ADDRESS, value: "{{ $server.https | ternary "https" "http" }}://{{ $hosts }}"}
- {name: CAUSELINE_HTTPS, value: "{{ $server.https | ternary "on" "off" }}"}
- {name: CAUSELINE_PROXIES, value: {{ $server.proxies | join "," | quote }}}
- {name: CAUSELINE_DATA_DIR, value: /var/lib/causeline}
- {name: CAUSELINE_HEARTBEAT_FILE, value: /tmp/heartbeat}
- {name: CAUSELINE_LOG_FORMAT, value: json}
{{- if $values.kubeconfigs.existingSecret }}
- {name: CAUSELINE_KUBECONFIG_DIRS, value: /etc/causeline/kubeconfigs}
{{- end }}
{{- with $values.oidc }}
{{- if .enabled }}
- {name: CAUSELINE_OIDC_ISSUER, value: {{ required "oidc.issuer is empty: write the address of your provider." .issuer | quote }}}
- {name: CAUSELINE_OIDC_CLIENT_ID, value: {{ required "oidc.clientId is empty: write the id of the client that is registered there." .clientId | quote }}}
{{- with .clientSecretKey }}
- {name: CAUSELINE_OIDC_CLIENT_SECRET, valueFrom: {secretKeyRef: {name: {{ $secret }}, key: {{ . }}}}}
{{- end }}
{{- end }}
{{- end }}
{{- include "causeline.refuse" (list $root "server.settings" $server.settings "own" "secret") }}
{{- include "causeline.refuse" (list $root "server.secretSettings" $server.secretSettings "own") }}
{{- range $name, $value := $server.settings }}
- {name: {{ $name }}, value: {{ include "causeline.setting" $value }}}
{{- end }}
{{- range $name, $key := $server.secretSettings }}
- {name: {{ $name }}, valueFrom: {secretKeyRef: {name: {{ $secret }}, key: {{ $key }}}}}
{{- end }}
{{- with concat $server.extraEnv ($part.extraEnv | default list) }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Refuse settings that the chart sets itself, and secrets. Takes (list $ path settings kind…). */}}
{{- define "causeline.refuse" -}}
{{- $path := index . 1 -}}
{{- $listed := (index . 0).Files.Get "files/settings.json" | fromJson -}}
{{- range $name, $_ := index . 2 -}}
{{- if has $name $listed.own -}}
{{- fail (printf "%s.%s: this chart sets it by a value of its own, or takes it from server.existingSecret; see the README of the chart." $path $name) -}}
{{- else if and (has "secret" $) (has $name $listed.secret) -}}
{{- fail (printf "%s.%s is a secret: write it into the Secret, and name its key in server.secretSettings." $path $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* A setting as text. Helm reads whole numbers of values as floats, which are not to be written as 1e+06. */}}
{{- define "causeline.setting" -}}
{{- if kindIs "float64" . }}{{ if eq . (floor .) }}{{ printf "%.0f" . | quote }}{{ else }}{{ toString . | quote }}{{ end }}
{{- else if kindIs "bool" . }}{{ . | ternary "on" "off" | quote }}
{{- else }}{{ toString . | quote }}{{ end }}
{{- end -}}

{{/* The volumes that Pods with the shared data mount, and where. */}}
{{- define "causeline.dataMounts" -}}
- {name: data, mountPath: /var/lib/causeline}
- {name: temporary, mountPath: /tmp}
{{- if .Values.kubeconfigs.existingSecret }}
- {name: kubeconfigs, mountPath: /etc/causeline/kubeconfigs, readOnly: true}
{{- end }}
{{- end -}}

{{- define "causeline.dataVolumes" -}}
- name: data
  persistentVolumeClaim: {claimName: {{ .Values.data.existingClaim | default (printf "%s-data" (include "causeline.name" .)) }}}
{{ include "causeline.temporaryVolume" . }}
{{- with .Values.kubeconfigs.existingSecret }}
- name: kubeconfigs
  secret: {secretName: {{ . }}, defaultMode: 0440}
{{- end }}
{{- end -}}

{{- define "causeline.temporaryVolume" -}}
- name: temporary
  emptyDir: {sizeLimit: {{ .Values.temporarySize }}}
{{- end -}}
