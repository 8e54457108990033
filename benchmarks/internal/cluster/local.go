package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// program is the local cluster's tool, which is built next to this program.
const program = "local"

// Local manages a cluster on this machine with the program bin/local.
type Local struct {
	// Program is the path of bin/local.
	Program string
	// Folder is the working directory of the program, which installs the checkout around it. Empty means the present one.
	Folder string
	Name   string
	Nodes  int
	// UpFlags are further flags of `local up`.
	UpFlags []string
	// GPUs is the --gpus flag of `local install`: "emulated:2x24GiB".
	GPUs string
	// Components are further components of deploy/components.
	Components []string
	// Objective is the objective of policy harmless; empty means its default.
	Objective string
	// Out and Err receive the output of the program.
	Out, Err io.Writer
}

// FindProgram looks for bin/local next to the running program, then on PATH.
func FindProgram(executable string) (string, error) {
	beside := filepath.Join(filepath.Dir(executable), program)
	if info, err := os.Stat(beside); err == nil && info.Mode()&0o111 != 0 {
		return beside, nil
	}
	if found, err := exec.LookPath(program); err == nil {
		return found, nil
	}
	return "", fmt.Errorf("%s is not there: it brings up the local cluster (make build), or set KUBECONFIG to use a cluster you have", beside)
}

// IsUp reports whether the cluster is up.
func (l Local) IsUp(ctx context.Context) bool {
	quiet := l
	quiet.Out, quiet.Err = io.Discard, io.Discard
	return quiet.run(ctx, "status", "--name", l.Name) == nil
}

// Exists reports whether anything of the cluster exists, up or not. It returns true if that is unknown.
func (l Local) Exists(ctx context.Context) bool {
	var out bytes.Buffer
	quiet := l
	quiet.Out, quiet.Err = &out, io.Discard
	return quiet.run(ctx, "list") != nil || slices.Contains(strings.Fields(out.String()), l.Name)
}

// Up builds missing programs and brings the cluster up, for good or until the process withPID ends. The program
// checks its requirements (root, cgroups, disk) first and reports what is missing.
func (l Local) Up(ctx context.Context, withPID int) error {
	args := append([]string{"up", "--name", l.Name, "--nodes", strconv.Itoa(l.Nodes)}, l.UpFlags...)
	if withPID > 0 {
		args = append(args, "--with-pid", strconv.Itoa(withPID))
	}
	if err := l.run(ctx, args...); err != nil {
		return fmt.Errorf("bringing the cluster up: %w", err)
	}
	return nil
}

// Install installs Trellis on the cluster, or changes its share policy.
func (l Local) Install(ctx context.Context, policy string, interval time.Duration) error {
	args := []string{"install", "--name", l.Name, "--gpus", l.GPUs, "--policy", policy, "--interval", interval.String()}
	if l.Objective != "" {
		args = append(args, "--objective", l.Objective)
	}
	for _, component := range l.Components {
		args = append(args, "--component", component)
	}
	if err := l.run(ctx, args...); err != nil {
		return fmt.Errorf("installing Trellis: %w", err)
	}
	return nil
}

// Down takes the cluster down and checks that nothing is left of it.
func (l Local) Down(ctx context.Context) error {
	if err := l.run(ctx, "down", "--name", l.Name); err != nil {
		return fmt.Errorf("taking the cluster down: %w (try again: %s down --name %s)", err, l.Program, l.Name)
	}
	return nil
}

// RestartKubelet restarts a node's kubelet. It kills a running one first.
func (l Local) RestartKubelet(ctx context.Context, node string) error {
	quiet := l
	quiet.Out = io.Discard
	if err := quiet.run(ctx, "restart-kubelet", "--name", l.Name, "--node", node); err != nil {
		return fmt.Errorf("starting %s's kubelet again: %w", node, err)
	}
	return nil
}

// LocalStatus has the folder and the nodes of a local cluster.
type LocalStatus struct {
	State  string      `json:"state"`
	Folder string      `json:"folder"`
	Nodes  []LocalNode `json:"nodes"`
	// Ended has the programs that ended and were not restarted, with the reason.
	Ended map[string]string `json:"ended"`
}

// LocalNode is a node and the init process of all its processes.
type LocalNode struct {
	Name string `json:"name"`
	PID  int    `json:"pid"`
}

// Status returns the state of the cluster, up or not.
func (l Local) Status(ctx context.Context) (LocalStatus, error) {
	var out bytes.Buffer
	quiet := l
	quiet.Out, quiet.Err = &out, io.Discard
	asked := quiet.run(ctx, "status", "--name", l.Name, "-o", "json") // fails if the cluster is not up, but prints the status
	var status LocalStatus
	if err := json.Unmarshal(out.Bytes(), &status); err != nil {
		return status, errors.Join(fmt.Errorf("asking how cluster %s is: %w", l.Name, err), asked)
	}
	return status, nil
}

// Kubeconfig returns the path of the administrator's kubeconfig.
func (l Local) Kubeconfig(ctx context.Context) (string, error) {
	var out bytes.Buffer
	quiet := l
	quiet.Out = &out
	if err := quiet.run(ctx, "kubeconfig", "--name", l.Name); err != nil {
		return "", fmt.Errorf("asking for the kubeconfig: %w", err)
	}
	return strings.TrimSpace(out.String()), nil
}

// run runs the program once. When ctx ends, it sends SIGTERM and later SIGKILL. The program has its own process
// group, so that a terminal's Ctrl-C reaches it through ctx only, once.
func (l Local) run(ctx context.Context, args ...string) error {
	command := exec.CommandContext(ctx, l.Program, args...)
	command.Dir = l.Folder
	command.Stdout, command.Stderr = l.Out, l.Err
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 30 * time.Second
	err := command.Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("%s %s: %w; the reason is printed above", program, args[0], err)
	}
	return err
}
