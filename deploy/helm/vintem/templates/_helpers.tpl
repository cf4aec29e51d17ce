{{- define "vintem.fullname" -}}
{{- if contains "vintem" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-vintem" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "vintem.selector" -}}
app.kubernetes.io/name: vintem
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "vintem.labels" -}}
{{ include "vintem.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "vintem.serviceAccount" -}}
{{- default (include "vintem.fullname" .) .Values.serviceAccount.name }}
{{- end }}

{{- define "vintem.image" -}}
{{- with .Values.image }}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ default $.Chart.AppVersion .tag }}{{ end }}
{{- end }}
{{- end }}

{{/* Of every pod: another user than root, no token, and no variables for each Service of the namespace. */}}
{{- define "vintem.pod" -}}
enableServiceLinks: false
automountServiceAccountToken: false
serviceAccountName: {{ include "vintem.serviceAccount" . }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "vintem.container" -}}
image: {{ include "vintem.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  readOnlyRootFilesystem: true
  allowPrivilegeEscalation: false
  capabilities: { drop: [ALL] }
{{- end }}

{{/* Argument: (root, whether the owner's login is mounted, further variables). */}}
{{- define "vintem.env" -}}
{{- $root := index . 0 }}{{- $owner := index . 1 }}{{- $extra := index . 2 }}
env:
  - { name: PUBLIC_URL, value: {{ $root.Values.publicUrl | quote }} }
{{- range $name, $value := $root.Values.settings }}
  - { name: {{ $name }}, value: {{ $value | toString | quote }} }
{{- end }}
{{- range $name, $key := $root.Values.secrets.files }}
  - { name: {{ $name }}_FILE, value: /run/secrets/vintem/{{ $key }} }
{{- end }}
{{- if $owner }}
  - { name: MIGRATION_DATABASE_URL_FILE, value: /run/secrets/migration/{{ $root.Values.secrets.migration.key }} }
{{- end }}
{{- with $extra }}
{{ toYaml . | indent 2 }}
{{- end }}
{{- end }}

{{/* Argument: (root, whether the owner's login is mounted). */}}
{{- define "vintem.mounts" -}}
- { name: tmp, mountPath: /tmp }
- { name: data, mountPath: /var/lib/vintem }
- { name: secrets, mountPath: /run/secrets/vintem, readOnly: true }
{{- if index . 1 }}
- { name: migration, mountPath: /run/secrets/migration, readOnly: true }
{{- end }}
{{- end }}

{{- define "vintem.volumes" -}}
{{- $root := index . 0 }}
- { name: tmp, emptyDir: { medium: Memory, sizeLimit: 64Mi } }
- { name: data, emptyDir: { sizeLimit: 256Mi } }
- name: secrets
  secret:
    secretName: {{ $root.Values.secrets.existingSecret }}
    defaultMode: 0440
    items:
    {{- range $key := concat ($root.Values.secrets.files | values) $root.Values.secrets.mounted | uniq | sortAlpha }}
      - { key: {{ $key }}, path: {{ $key }} }
    {{- end }}
{{- if index . 1 }}
- name: migration
  secret:
    secretName: {{ $root.Values.secrets.migration.existingSecret }}
    defaultMode: 0440
    items: [{ key: {{ $root.Values.secrets.migration.key }}, path: {{ $root.Values.secrets.migration.key }} }]
{{- end }}
{{- end }}
