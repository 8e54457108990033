package devicebench

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/shipped"
)

// process is the measured program, or one that it needs.
type process struct {
	command *exec.Cmd
	output  *tail
}

// tail keeps the end of a program's output.
type tail struct {
	mu   sync.Mutex
	last []byte
}

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, b...)
	t.last = bytes.Clone(t.last[max(0, len(t.last)-4096):])
	return len(b), nil
}

func run(program string, env []string, args ...string) (*process, error) {
	p := &process{command: exec.Command(program, args...), output: &tail{}}
	p.command.Stdout, p.command.Stderr = p.output, p.output
	p.command.Env = append(os.Environ(), env...)
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	return p, nil
}

func (p *process) stop() {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(10*time.Second, func() { _ = p.command.Process.Kill() })
	defer late.Stop()
	_ = p.command.Wait()
}

func (p *process) said() string {
	p.output.mu.Lock()
	defer p.output.mu.Unlock()
	return string(p.output.last)
}

// memory returns the resident set in MB, and the anonymous part of it.
func (p *process) memory() (resident, anonymous float64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		kib := 0.0
		_, _ = fmt.Sscan(value, &kib)
		switch name {
		case "VmRSS":
			resident = kib * 1024 / 1e6
		case "RssAnon":
			anonymous = kib * 1024 / 1e6
		}
	}
	return resident, anonymous, nil
}

// startEtcd starts the bus. It does not sync its disk: a cluster's etcd has its own disk, while here the plugin's
// writes would wait for etcd's.
func startEtcd(program, dir string) (*process, string, error) {
	client, peer := freeAddress(), freeAddress()
	p, err := run(program, nil, "--data-dir", filepath.Join(dir, "etcd"), "--log-level", "error", "--unsafe-no-fsync",
		"--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer,
		"--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer)
	return p, client, err
}

// freeAddress returns an address that was free a moment ago. If it is taken since, the program reports it.
func freeAddress() string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "http://127.0.0.1:0"
	}
	defer func() { _ = listener.Close() }()
	return "http://" + listener.Addr().String()
}

// startPlugin starts the plugin with the memory settings of the shipped DaemonSet.
func startPlugin(program, dir string, k *kubelet, api, bus string) (*process, string, error) {
	config, err := kubeconfig(dir, api)
	if err != nil {
		return nil, "", err
	}
	health := freeAddress()
	p, err := run(program, []string{"GOGC=" + shipped.DevicepluginGOGC}, "--node-name", node, "--gpus", gpus, "--plugin-dir", dir, "--pod-resources", k.resources(),
		"--state-dir", filepath.Join(dir, "state"), "--health-listen", strings.TrimPrefix(health, "http://"), "--kubeconfig", config,
		"--etcd-endpoints", bus)
	return p, health, err
}
