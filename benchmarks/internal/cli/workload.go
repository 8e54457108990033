package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
)

// generated is the prefix of a workload that is not a file: philly:300 has 300 jobs.
const generated = "philly:"

// sourceHelp describes the sources of a workload.
const sourceHelp = `The workload is a CSV file, "-" for the standard input, or philly:N for N jobs that arrive in bursts as in Microsoft's Philly
trace. The formats are trellis (as benchmarks/workloads/demo.csv), torchloader, and qore-dl (iteration times; a job for each
configuration). Jobs of other formats are represented by the project's example jobs.`

// source is where the jobs of a command come from.
type source struct {
	format   string
	speedup  float64
	defaults workload.Defaults
}

// load reads the workload that name names.
func (s source) load(name string, stdin io.Reader) (workload.Workload, error) {
	if !(s.speedup >= 0.001 && s.speedup <= 1e6) {
		return nil, fmt.Errorf("--speedup %g: 0.001 to 1e6", s.speedup)
	}
	if s.format != "" && !slices.Contains(workload.Formats(), s.format) {
		return nil, fmt.Errorf("--format %q: %s", s.format, strings.Join(workload.Formats(), ", "))
	}
	jobs, err := s.read(name, stdin)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return jobs.SpedUp(s.speedup), nil
}

func (s source) read(name string, stdin io.Reader) (workload.Workload, error) {
	if number, ok := strings.CutPrefix(name, generated); ok {
		n, err := strconv.Atoi(number)
		if err != nil {
			return nil, errors.New("a number of jobs must follow, such as philly:300")
		}
		return workload.Philly(n, s.defaults)
	}
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, errors.Unwrap(err) // the caller names the file
		}
		defer file.Close()
		stdin = file
	}
	return workload.Read(stdin, workload.Format(s.format), s.defaults)
}
