package devicebench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/trellis-gpu/trellis/benchmarks/internal/shipped"
	"github.com/trellis-gpu/trellis/daemon/kubelettest"
	"github.com/trellis-gpu/trellis/daemon/processtest"
)

// process is the measured program.
type process struct{ *processtest.Process }

// memory returns the resident set in MB, and the anonymous part of it.
func (p *process) memory() (resident, anonymous float64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
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

// startPlugin starts the plugin with the memory settings of the shipped DaemonSet.
func startPlugin(program, dir string, kubelet *kubelettest.Kubelet, api, bus string) (*process, string, error) {
	config, err := kubeconfig(dir, api)
	if err != nil {
		return nil, "", err
	}
	health, err := processtest.FreeAddress()
	if err != nil {
		return nil, "", err
	}
	p, err := processtest.Start(processtest.Program{
		Path: program,
		Args: []string{
			"--node-name", node, "--gpus", gpus, "--plugin-dir", kubelet.Dir, "--pod-resources", kubelet.PodResources,
			"--state-dir", filepath.Join(dir, "state"), "--health-listen", health, "--kubeconfig", config,
			"--etcd-endpoints", bus,
		},
		Env: []string{"GOGC=" + shipped.DevicepluginGOGC},
		Dir: dir,
	})
	return &process{p}, "http://" + health, err
}
