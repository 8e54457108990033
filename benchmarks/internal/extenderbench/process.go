package extenderbench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a program that the benchmark runs.
type process struct {
	name, log string
	command   *exec.Cmd
	ended     chan struct{}
}

// launch starts a program. Its output goes to a file in dir.
func launch(dir, program string, arguments ...string) (*process, error) {
	return launchWith(dir, nil, program, arguments...)
}

func launchWith(dir string, environment []string, program string, arguments ...string) (*process, error) {
	name := filepath.Base(program)
	log, err := os.CreateTemp(dir, name+"-*.log")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := &process{name: name, log: log.Name(), command: exec.Command(program, arguments...), ended: make(chan struct{})}
	p.command.Env = append(os.Environ(), environment...)
	p.command.Stdout, p.command.Stderr = log, log
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() { _ = p.command.Wait(); close(p.ended) }()
	return p, nil
}

// stop sends SIGTERM, and SIGKILL after five seconds.
func (p *process) stop() {
	if p == nil {
		return
	}
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(5 * time.Second):
		_ = p.command.Process.Kill()
		<-p.ended
	}
}

// answers waits until a URL returns 200.
func (p *process) answers(ctx context.Context, url string) error {
	return p.await(ctx, func(ctx context.Context) bool {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return false
		}
		reply, err := http.DefaultClient.Do(request)
		if err != nil {
			return false
		}
		_ = reply.Body.Close()
		return reply.StatusCode == http.StatusOK
	})
}

// await waits until ready returns true.
func (p *process) await(ctx context.Context, ready func(context.Context) bool) error {
	return p.awaitEvery(ctx, 20*time.Millisecond, ready)
}

// awaitEvery is await with an interval, for expensive checks.
func (p *process) awaitEvery(ctx context.Context, every time.Duration, ready func(context.Context) bool) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for !ready(ctx) {
		select {
		case <-tick.C:
		case <-p.ended:
			return fmt.Errorf("%s has ended: %s", p.name, p.said())
		case <-ctx.Done():
			return fmt.Errorf("%s does not become ready: %s", p.name, p.said())
		}
	}
	return nil
}

// said returns the end of the program's log.
func (p *process) said() string {
	text, _ := os.ReadFile(p.log)
	return string(text[max(0, len(text)-2000):])
}

// peak returns the program's peak memory, in bytes.
func (p *process) peak() (int64, error) {
	file, err := os.Open(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) == 3 && fields[0] == "VmHWM:" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("the kernel reports no VmHWM")
}

// freeAddress returns a loopback address that was free a moment ago.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}
