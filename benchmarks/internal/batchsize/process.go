package batchsize

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/shim"
	"github.com/trellis-gpu/trellis/growth/wire"

	"github.com/trellis-gpu/trellis/benchmarks/jobs"
)

// startup bounds the time from the start of a process to its first message, or between two of its messages.
const startup = 2 * time.Minute

// Workplace is a folder with the training programs and the shim.
type Workplace struct {
	Folder string
	// Python is an interpreter with PyTorch and scikit-learn.
	Python string
}

// Prepare writes the programs into the folder.
func (w Workplace) Prepare() error {
	scripts, err := jobs.Scripts()
	if err != nil {
		return err
	}
	scripts[shim.FileName] = string(shim.Source())
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(w.Folder, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// command runs a program of the folder with one thread.
func (w Workplace) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, w.Python, append([]string{filepath.Join(w.Folder, program)}, args...)...)
	c.Env = append(os.Environ(), "GPUSHARE_DIR="+w.Folder, "PYTHONDONTWRITEBYTECODE=1", "OMP_NUM_THREADS=1")
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	c.Stderr = os.Stderr
	return c
}

// process is a training job whose shim is connected.
type process struct {
	command  *exec.Cmd
	listener net.Listener
	// messages has what the job sends, and is closed when its connection ends.
	messages chan wire.Message

	mu   sync.Mutex
	conn net.Conn
}

// start starts a job. end must be called.
func (w Workplace) start(ctx context.Context, args ...string) (*process, error) {
	socket := filepath.Join(w.Folder, gpushare.SocketName)
	_ = os.Remove(socket)
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	p := &process{command: w.command(ctx, "run.py", args...), listener: listener, messages: make(chan wire.Message, 64)}
	if err := p.command.Start(); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	go p.serve(ctx)
	return p, nil
}

// serve reads the job's only connection.
func (p *process) serve(ctx context.Context) {
	defer close(p.messages)
	conn, err := p.listener.Accept()
	if err != nil {
		return
	}
	p.mu.Lock()
	p.conn = conn
	p.mu.Unlock()
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		m, err := wire.Decode(lines.Bytes())
		if err != nil {
			continue
		}
		select {
		case p.messages <- m:
		case <-ctx.Done():
			return
		}
	}
}

// next returns the next message, or nil at a time.
func (p *process) next(ctx context.Context, until time.Time) (wire.Message, error) {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case m, ok := <-p.messages:
		if !ok {
			return nil, errors.New("run.py has ended, or closed its connection: its output says why")
		}
		return m, nil
	case <-timer.C:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *process) send(c wire.Config) error {
	line, err := wire.Encode(c)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err = p.conn.Write(line)
	return err
}

// memory is the resident memory of the process; 0 if it is unknown.
func (p *process) memory() growth.MiB {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.command.Process.Pid))
	if err != nil {
		return 0
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		return 0
	}
	return growth.MiB(resident * int64(os.Getpagesize()) >> 20)
}

func (p *process) end() {
	_ = p.listener.Close()
	_ = p.command.Process.Kill()
	_ = p.command.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn != nil {
		_ = p.conn.Close()
	}
}
