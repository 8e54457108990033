//go:build e2e && linux

package e2e

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deploy/local/internal/image"
	"github.com/trellis-gpu/trellis/deploy/local/internal/registry"
)

const repository = "../../.."

// TestInstall_AsPrinted runs the commands of README.md and of docs/install.md against a stock registry and a local cluster
// whose nodes pull from it.
func TestInstall_AsPrinted(t *testing.T) {
	t.Parallel()
	l := buildLocal(t)
	name := l.up("--nodes=1")
	host := clusterHost(t, l, name)
	address := startRegistry(t, l, host)
	mirrorRegistries(t, name, address)
	pushPython(t, address)

	admin := shell{t: t, env: append(os.Environ(),
		"PATH="+l.stockFolder(name)+":"+os.Getenv("PATH"),
		"KUBECONFIG="+l.run("kubeconfig", "--name="+name),
		"REGISTRY="+address+"/trellis",
		"TRELLIS_PLAIN_HTTP=true",                // the registry is on the cluster's bridge, and serves no TLS
		"TRELLIS_WITH_STOCK=true",                // no static pods of a control plane show the upstream images
		"TRELLIS_COMPONENT=ephemeral-bus",        // no StorageClass
		"TRELLIS_GPUS=emulated:1x24GiB",          // no GPU
		"TRELLIS_STOCK_DIR="+l.stockFolder(name), // kube-scheduler and etcd
	)}
	blocks := printedBlocks(t, "install.md")

	t.Run("README", func(t *testing.T) {
		out := admin.run(readmeInstallation(t, address+"/trellis"))
		require.Contains(t, out, "[6/6] kube-scheduler")
		require.Contains(t, out, "Trellis is installed")
		require.Contains(t, out, "gpushare/gpu-mem")
	})
	t.Run("images", func(t *testing.T) {
		again := admin.run(blocks["images"])
		require.Equal(t, 6, strings.Count(again, "in the registry already"), again)
	})
	t.Run("install", func(t *testing.T) {
		require.Contains(t, admin.run(blocks["install"]), "Trellis is installed")
		images := l.kubectl(name, "get", "pods", "-n", "trellis", "-o", "jsonpath={.items[*].spec.containers[*].image}")
		for _, pulled := range strings.Fields(images) {
			require.Regexp(t, "^"+address+"/trellis/[a-z-]+@sha256:[0-9a-f]{64}$", pulled)
		}
	})
	t.Run("a first job", func(t *testing.T) {
		out := admin.run(blocks["job"])
		require.Contains(t, out, "done: y =")
		require.Contains(t, out, "gpushare/gpu:")
	})
	t.Run("again rolls nothing out", func(t *testing.T) {
		before := pods(l, name)
		admin.run(blocks["install"])
		require.Equal(t, before, pods(l, name))
	})
	t.Run("renewal of the certificates", func(t *testing.T) {
		before := authority(l, name)
		require.Contains(t, admin.run(blocks["renew"]), "renewing the bus's certificates")
		require.NotEqual(t, before, authority(l, name))
	})
	t.Run("uninstall", func(t *testing.T) {
		admin.run(blocks["uninstall"])
		left := l.kubectl(name, "get", "namespaces,clusterroles,clusterrolebindings,mutatingadmissionpolicies,validatingadmissionpolicies", "-o", "name")
		require.NotContains(t, left, "trellis")
	})
}

func pods(l local, name string) string {
	return l.kubectl(name, "get", "pods", "-n", "trellis", "-o", "name")
}

func authority(l local, name string) string {
	return l.kubectl(name, "get", "secret", "-n", "trellis", "trellis-bus-ca", "-o", "jsonpath={.data}")
}

// shell runs printed commands in the root of the repository.
type shell struct {
	t   *testing.T
	env []string
}

func (s shell) run(commands string) string {
	s.t.Helper()
	require.NotEmpty(s.t, commands, "docs/install.md has lost a block")
	cmd := exec.Command("bash", "-euxo", "pipefail", "-c", commands)
	cmd.Dir, cmd.Env = repository, s.env
	out, err := cmd.CombinedOutput()
	s.t.Log(string(out))
	require.NoError(s.t, err)
	return string(out)
}

var readmeBlock = regexp.MustCompile("(?s)\n## Installation\n.*?```console\n(.*?)```")

// readmeInstallation returns the commands below "Installation" in README.md, with the names that the user must fill in.
func readmeInstallation(t *testing.T, registry string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "README.md"))
	require.NoError(t, err)
	block := readmeBlock.FindSubmatch(text)
	require.NotNil(t, block, "README.md has lost its installation")
	commands := strings.ReplaceAll("\n"+string(block[1]), "\n$ ", "\n")
	return strings.NewReplacer("HOST:PORT/PREFIX", registry, " NODE ", " --all --overwrite ").Replace(commands)
}

// clusterHost is the address of this machine on the cluster's bridge.
func clusterHost(t *testing.T, l local, name string) string {
	t.Helper()
	server := l.kubectl(name, "config", "view", "-o", "jsonpath={.clusters[0].cluster.server}")
	address, err := url.Parse(server)
	require.NoError(t, err)
	return address.Hostname()
}

// startRegistry runs the stock registry on the cluster's bridge and returns its address.
func startRegistry(t *testing.T, l local, host string) string {
	t.Helper()
	build := l.command("build", "--only=registry")
	build.Env = append(os.Environ(), "TRELLIS_STOCK_DIR=") // a folder of ready programs has no registry
	out, err := build.Output()
	require.NoError(t, err, string(out))
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")

	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	folder := t.TempDir()
	config := filepath.Join(folder, "config.yml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil,
		"version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: %q}\n", folder, address), 0o600))
	cmd := exec.Command(filepath.Join(lines[len(lines)-1], "registry"), "serve", config)
	cmd.Env = append(os.Environ(), "OTEL_TRACES_EXPORTER=none")
	// The registry logs an error for every image that it does not have yet.
	var log bytes.Buffer
	cmd.Stderr = &log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	require.Eventually(t, func() bool {
		connection, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			connection.Close()
		}
		return err == nil
	}, 30*time.Second, 100*time.Millisecond)
	return address
}

// mirrorRegistries lets the nodes pull every image from the registry, as in a cluster without a way to the Internet.
func mirrorRegistries(t *testing.T, name, address string) {
	t.Helper()
	folder := filepath.Join("/var/lib/trellis-local", name, "registries", "_default")
	require.NoError(t, os.MkdirAll(folder, 0o755))
	hosts := fmt.Sprintf("[host.%q]\n  capabilities = [\"pull\", \"resolve\"]\n", "http://"+address)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "hosts.toml"), []byte(hosts), 0o644))
}

// pushPython pushes this machine's Python in place of the image that deploy/samples/python.yaml names.
func pushPython(t *testing.T, address string) {
	t.Helper()
	const python = "/usr/bin/python3"
	stdlib, err := exec.Command(python, "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))").Output()
	require.NoError(t, err)
	files := map[string]string{python: python, "/tmp/": ""}
	addLibraries(t, files, python)
	err = filepath.WalkDir(strings.TrimSpace(string(stdlib)), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.Contains(path, "/test/") || strings.HasSuffix(path, ".pyc") {
			return err
		}
		if _, err := os.Stat(path); err == nil { // not a link to nowhere
			files[path] = path
		}
		if strings.HasSuffix(path, ".so") {
			addLibraries(t, files, path)
		}
		return nil
	})
	require.NoError(t, err)
	target := registry.Target{Address: address + "/library", Tag: "3.13-slim", PlainHTTP: true}
	_, err = target.Push(t.Context(), []image.Image{{Name: "python", Files: files}}, false, os.Stderr)
	require.NoError(t, err)
}

func addLibraries(t *testing.T, files map[string]string, program string) {
	t.Helper()
	libraries, err := image.Libraries(program)
	require.NoError(t, err)
	maps.Copy(files, libraries)
}
