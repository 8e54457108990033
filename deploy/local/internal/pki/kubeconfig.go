package pki

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// Everything is embedded, so that a kubeconfig can be copied to where it is needed.
var kubeconfig = template.Must(template.New("kubeconfig").Parse(`apiVersion: v1
kind: Config
clusters:
- name: {{.Cluster}}
  cluster:
    server: {{.Server}}
    certificate-authority-data: {{.CA}}
users:
- name: {{.User}}
  user:
    client-certificate-data: {{.Cert}}
    client-key-data: {{.Key}}
contexts:
- name: {{.Cluster}}
  context:
    cluster: {{.Cluster}}
    user: {{.User}}
current-context: {{.Cluster}}
`))

// Kubeconfig issues a client certificate for the subject and writes a kubeconfig with it to path.
func (a *Authority) Kubeconfig(path, cluster, server string, s Subject) error {
	name := strings.TrimSuffix(filepath.Base(path), ".kubeconfig")
	if err := a.Issue("client-"+name, s); err != nil {
		return err
	}
	fill := struct{ Cluster, Server, User, CA, Cert, Key string }{Cluster: cluster, Server: server, User: s.User}
	for file, to := range map[string]*string{
		"ca.crt": &fill.CA, "client-" + name + ".crt": &fill.Cert, "client-" + name + ".key": &fill.Key,
	} {
		content, err := os.ReadFile(filepath.Join(a.folder, file))
		if err != nil {
			return err
		}
		*to = base64.StdEncoding.EncodeToString(content)
	}
	var out strings.Builder
	if err := kubeconfig.Execute(&out, fill); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(out.String()), 0o600)
}
