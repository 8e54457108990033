package apiserver

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// kubeconfig is the part of a kubeconfig file that is decoded.
type kubeconfig struct {
	CurrentContext string `json:"current-context"`
	Contexts       []struct {
		Name    string `json:"name"`
		Context struct {
			Cluster string `json:"cluster"`
			User    string `json:"user"`
		} `json:"context"`
	} `json:"contexts"`
	Clusters []struct {
		Name    string `json:"name"`
		Cluster struct {
			Server string `json:"server"`
			CA     string `json:"certificate-authority"`
			CAData []byte `json:"certificate-authority-data"`
		} `json:"cluster"`
	} `json:"clusters"`
	Users []struct {
		Name string `json:"name"`
		User struct {
			Certificate     string `json:"client-certificate"`
			CertificateData []byte `json:"client-certificate-data"`
			Key             string `json:"client-key"`
			KeyData         []byte `json:"client-key-data"`
			Token           string `json:"token"`
			TokenFile       string `json:"tokenFile"`
			Exec            any    `json:"exec"`
		} `json:"user"`
	} `json:"users"`
}

// kubeconfigAccess returns the access described by the file's current context.
func kubeconfigAccess(path string) (access, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return access{}, fmt.Errorf("--kubeconfig: %w", err)
	}
	var k kubeconfig
	if err := yaml.Unmarshal(content, &k); err != nil {
		return access{}, fmt.Errorf("--kubeconfig: %s: %w", path, err)
	}
	a, err := k.access(filepath.Dir(path))
	if err != nil {
		return access{}, fmt.Errorf("--kubeconfig: %s: %w", path, err)
	}
	return a, nil
}

func (k kubeconfig) access(dir string) (access, error) {
	var a access
	cluster := ""
	user := ""
	for _, c := range k.Contexts {
		if c.Name == k.CurrentContext {
			cluster = c.Context.Cluster
			user = c.Context.User
		}
	}
	for _, c := range k.Clusters {
		if c.Name != cluster {
			continue
		}
		ca, err := dataOrFile(c.Cluster.CAData, dir, c.Cluster.CA)
		if err != nil {
			return access{}, err
		}
		a.server = c.Cluster.Server
		a.ca = ca
	}
	if a.server == "" {
		return access{}, fmt.Errorf("the current context %q names no server", k.CurrentContext)
	}
	for _, u := range k.Users {
		if u.Name != user {
			continue
		}
		if u.User.Exec != nil {
			return access{}, fmt.Errorf(
				"user %q logs in through a program: use a kubeconfig with a token or a certificate", user)
		}
		a.token = u.User.Token
		if u.User.TokenFile != "" {
			a.tokenFile = resolvePath(dir, u.User.TokenFile)
		}
		certificate, err := dataOrFile(u.User.CertificateData, dir, u.User.Certificate)
		if err != nil {
			return access{}, err
		}
		key, err := dataOrFile(u.User.KeyData, dir, u.User.Key)
		if err != nil || len(certificate) == 0 {
			return a, err
		}
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			return access{}, fmt.Errorf("user %q: %w", user, err)
		}
		a.certificates = []tls.Certificate{pair}
	}
	return a, nil
}

// dataOrFile returns data, or the content of the file, or nil if neither is given.
func dataOrFile(data []byte, dir, file string) ([]byte, error) {
	if len(data) > 0 || file == "" {
		return data, nil
	}
	return os.ReadFile(resolvePath(dir, file))
}

// resolvePath resolves a path relative to the kubeconfig, like kubectl.
func resolvePath(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
