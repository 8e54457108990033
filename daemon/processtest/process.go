package processtest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

const (
	// readyTimeout bounds how long a program may take to become ready.
	readyTimeout = 2 * time.Minute
	// stopTimeout is the time between SIGTERM and SIGKILL.
	stopTimeout = 5 * time.Second
	// maxOutput bounds the part of the output that Output returns, in bytes.
	maxOutput = 4000
)

// Process is a running program.
type Process struct {
	name    string
	log     string
	command *exec.Cmd
	ended   chan struct{}
}

// Program is a program to run.
type Program struct {
	// Path is the file of the program, Args are its arguments.
	Path string
	Args []string
	// Env is added to the environment of this process.
	Env []string
	// Dir is the folder of the file that receives the output.
	Dir string
}

// Start starts a program.
func Start(p Program) (*Process, error) {
	name := filepath.Base(p.Path)
	log, err := os.CreateTemp(p.Dir, name+"-*.log")
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	command := exec.Command(p.Path, p.Args...)
	command.Env = append(os.Environ(), p.Env...)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	process := &Process{name: name, log: log.Name(), command: command, ended: make(chan struct{})}
	started := make(chan error)
	go process.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	return process, nil
}

// run starts the process and waits until it ends. The kernel kills the process if the thread that started it ends: with the
// tests, however they end. So the thread must last as long.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.command.Start()
	started <- err
	if err == nil {
		_ = p.command.Wait()
		close(p.ended)
	}
}

// PID returns the process ID.
func (p *Process) PID() int { return p.command.Process.Pid }

// Stop sends SIGTERM, and SIGKILL after five seconds. It waits until the process has ended. On a nil process, Stop does
// nothing.
func (p *Process) Stop() {
	if p == nil {
		return
	}
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(stopTimeout):
		p.Kill()
	}
}

// Kill sends SIGKILL and waits until the process has ended. On a nil process, Kill does nothing.
func (p *Process) Kill() {
	if p == nil {
		return
	}
	_ = p.command.Process.Kill()
	<-p.ended
}

// Output returns the last part of the program's output.
func (p *Process) Output() string {
	text, _ := os.ReadFile(p.log)
	return string(text[max(0, len(text)-maxOutput):])
}

// AwaitURL waits until a URL answers 200.
func (p *Process) AwaitURL(ctx context.Context, url string) error {
	return p.AwaitURLWith(ctx, http.DefaultClient, url)
}

// AwaitURLWith is AwaitURL with an HTTP client.
func (p *Process) AwaitURLWith(ctx context.Context, client *http.Client, url string) error {
	return p.Await(ctx, 20*time.Millisecond, func(ctx context.Context) bool {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return false
		}
		answer, err := client.Do(request)
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
}

// Await calls ready at an interval until it returns true. If the program ends first, the error contains its output.
func (p *Process) Await(ctx context.Context, interval time.Duration, ready func(context.Context) bool) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for !ready(ctx) {
		select {
		case <-tick.C:
		case <-p.ended:
			return fmt.Errorf("%s has ended: %s", p.name, p.Output())
		case <-ctx.Done():
			return fmt.Errorf("%s does not become ready: %s", p.name, p.Output())
		}
	}
	return nil
}

// FreeAddress returns a loopback address with a port that is free at the time of the call.
func FreeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String(), nil
}
