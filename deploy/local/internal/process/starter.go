package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Program is one program to start.
type Program struct {
	Name       string // as it appears in messages
	Path       string
	Args       []string
	Env        []string   // nil: the starter's own
	Log        string     // file for both of its outputs, appended to
	Namespaces uintptr    // CLONE_NEW… flags
	Files      []*os.File // become descriptors 3, 4, …
}

// Exit is the end of a program.
type Exit struct {
	Name string
	Log  string
	Err  error // nil: it ended by itself with status 0
}

func (e Exit) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("%s ended unexpectedly (log: %s)", e.Name, e.Log)
	}
	return fmt.Sprintf("%s ended unexpectedly: %v (log: %s)", e.Name, e.Err, e.Log)
}

// Starter starts programs and reports their exits.
type Starter struct {
	requests chan func()
	exits    chan Exit

	mu      sync.Mutex
	running map[string]Identity
}

// NewStarter makes a starter. It holds one thread for as long as the process lives: the kernel kills a started
// program when the thread that started it ends, not when the process does.
func NewStarter() *Starter {
	s := &Starter{requests: make(chan func()), exits: make(chan Exit, 64), running: map[string]Identity{}}
	go func() {
		runtime.LockOSThread()
		for start := range s.requests {
			start()
		}
	}()
	return s
}

// Exits returns the channel that receives the exit of each started program.
func (s *Starter) Exits() <-chan Exit { return s.exits }

// Running lists the programs that have not ended yet.
func (s *Starter) Running() map[string]Identity {
	s.mu.Lock()
	defer s.mu.Unlock()
	running := make(map[string]Identity, len(s.running))
	for name, id := range s.running {
		running[name] = id
	}
	return running
}

// Start starts a program.
func (s *Starter) Start(p Program) (Identity, error) {
	if err := os.MkdirAll(filepath.Dir(p.Log), 0o755); err != nil {
		return Identity{}, err
	}
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return Identity{}, fmt.Errorf("open the log of %s: %w", p.Name, err)
	}
	defer log.Close()

	cmd := exec.Command(p.Path, p.Args...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = p.Env, log, log, p.Files
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true, Cloneflags: p.Namespaces}
	done := make(chan error)
	s.requests <- func() { done <- cmd.Start() }
	if err := <-done; err != nil {
		return Identity{}, fmt.Errorf("start %s: %w", p.Name, err)
	}
	id, err := Of(cmd.Process.Pid)
	if err != nil {
		return Identity{}, fmt.Errorf("identify %s: %w", p.Name, err)
	}
	s.mu.Lock()
	s.running[p.Name] = id
	s.mu.Unlock()
	go s.collect(cmd, p)
	return id, nil
}

func (s *Starter) collect(cmd *exec.Cmd, p Program) {
	err := cmd.Wait()
	s.mu.Lock()
	delete(s.running, p.Name)
	s.mu.Unlock()
	s.exits <- Exit{Name: p.Name, Log: p.Log, Err: err}
}

// KillAll ends every running program at once and waits until they are gone, for limit at most.
func (s *Starter) KillAll(limit time.Duration) {
	deadline := time.Now().Add(limit)
	running := s.Running()
	for _, id := range running {
		_ = id.Signal(unix.SIGKILL)
	}
	for _, id := range running {
		id.WaitGone(max(time.Until(deadline), 0))
	}
}
