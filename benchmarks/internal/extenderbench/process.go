package extenderbench

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/trellis-gpu/trellis/daemon/processtest"
)

// process is a program that the benchmark runs and measures.
type process struct{ *processtest.Process }

// launch starts a program. Its output goes to a file in dir.
func launch(dir, program string, arguments ...string) (*process, error) {
	return launchWith(dir, nil, program, arguments...)
}

func launchWith(dir string, environment []string, program string, arguments ...string) (*process, error) {
	p, err := processtest.Start(processtest.Program{Path: program, Args: arguments, Env: environment, Dir: dir})
	if err != nil {
		return nil, err
	}
	return &process{p}, nil
}

// stop ends the program. It may be nil.
func (p *process) stop() {
	if p != nil {
		p.Stop()
	}
}

// peak returns the program's peak memory, in bytes.
func (p *process) peak() (int64, error) {
	file, err := os.Open(fmt.Sprintf("/proc/%d/status", p.PID()))
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
