package node

import (
	"bytes"
	"embed"
	"os"
	"path/filepath"
	"text/template"
)

//go:embed templates
var templateFiles embed.FS

var templates = template.Must(template.ParseFS(templateFiles, "templates/*"))

// The configuration files, by the name of their template.
const (
	containerdConfig = "containerd.toml"
	networkConfig    = "10-bridge.conflist"
	kubeletConfig    = "kubelet.yaml"
	proxyConfig      = "kube-proxy.yaml"
	resolvConfig     = "resolv.conf"
)

// configPath is where a configuration file of the node lies. CNI wants a folder of its own.
func (l Layout) configPath(name string) string {
	if name == networkConfig {
		return l.path("cni", "net.d", name)
	}
	return l.path("config", name)
}

// dropIns is the folder of files that change kubelet's configuration. Their names end in .conf.
func (l Layout) dropIns() string { return l.configPath("kubelet.conf.d") }

// Config is the text of one configuration file.
func (l Layout) Config(name string) ([]byte, error) {
	var out bytes.Buffer
	err := templates.ExecuteTemplate(&out, name, map[string]any{
		"Node":       l.Node,
		"Plan":       l.Plan,
		"CgroupRoot": l.CgroupRoot,
		"Socket":     Socket,
		"PauseImage": PauseImage,
		"Registries": l.Folder.Registries(),
		"Gateway":    l.Pods.Addr().Next(),
		"Root":       l.path("containerd"),
		"CNIPlugins": cniPlugins,
		"CNIConfig":  filepath.Dir(l.configPath(networkConfig)),
		"CNIData":    l.path("cni", "addresses"),
		"ClientCA":   l.Folder.PKI("ca.crt"),
		"Cert":       l.Folder.PKI("kubelet-" + l.Name + ".crt"),
		"Key":        l.Folder.PKI("kubelet-" + l.Name + ".key"),
		"ProxyUser":  l.Folder.Kubeconfig("kube-proxy"),
		"ResolvConf": l.configPath(resolvConfig),
	})
	return out.Bytes(), err
}

func (l Layout) writeConfigs() error {
	if err := os.MkdirAll(l.dropIns(), 0o755); err != nil {
		return err
	}
	for _, name := range []string{containerdConfig, networkConfig, kubeletConfig, proxyConfig, resolvConfig} {
		text, err := l.Config(name)
		if err != nil {
			return err
		}
		path := l.configPath(name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
