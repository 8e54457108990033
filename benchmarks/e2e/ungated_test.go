//go:build e2e && linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/training"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
	"github.com/trellis-gpu/trellis/benchmarks/jobs"
)

// fingerprint matches the hash of everything that a job has learned, in the last line of its log.
var fingerprint = regexp.MustCompile(`(?m)^finished .* state=([0-9a-f]+)$`)

// resultsAreThoseOfUngatedRuns trains the same jobs on this machine's CPU, without Trellis, and compares the results bit by bit.
func (s *stage) resultsAreThoseOfUngatedRuns(t *testing.T) {
	scripts, err := jobs.Scripts()
	require.NoError(t, err)
	folder := t.TempDir()
	for name, text := range scripts {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	for _, job := range s.jobs {
		if job.Name == "old" {
			continue // the longest: the others are paused, killed and restarted likewise
		}
		log := s.log(t, job.Name)
		t.Run(job.Name, func(t *testing.T) {
			t.Parallel()
			gated := fingerprint.FindStringSubmatch(log)
			require.Len(t, gated, 2, "the job has no last line")
			out, err := ungated(t, folder, job).CombinedOutput()
			require.NoError(t, err, string(out))
			require.Equal(t, gated[1], fingerprint.FindStringSubmatch(string(out))[1])
		})
	}
}

// ungated is the command of a job without Trellis, with the arguments of its pod that the result depends on. Variables of this
// process may select other kernels of numerical libraries, whose sums are rounded differently: the job has those of its pod only.
func ungated(t *testing.T, folder string, job workload.Job) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), training.MachinePython, "run.py", job.Kind,
		"--steps", strconv.Itoa(job.Steps), "--batch-size", strconv.Itoa(job.Batch), "--seed", strconv.FormatUint(uint64(job.Seed), 10),
		"--preprocess", strconv.FormatFloat(training.EmulatedPreprocess, 'g', -1, 64), "--progress", "log")
	cmd.Dir = folder
	cmd.Env = []string{"OMP_NUM_THREADS=1"}
	return cmd
}

// holder returns the job whose training process computes on the GPU now. The others sleep until it is their turn.
func (s *stage) holder(t *testing.T) (name string, pid int, ok bool) {
	for _, job := range s.jobs {
		if !s.exists(t, job.Name) {
			continue
		}
		uid := string(s.pod(t, job.Name).UID)
		for pid, process := range trainers(t) {
			if strings.Contains(process.cgroups, uid) && process.running {
				return job.Name, pid, true
			}
		}
	}
	return "", 0, false
}

// trainer is a process of a job that trains, not one that loads data.
type trainer struct {
	cgroups string
	running bool
}

// trainers returns the first process of each container that runs the training program.
func trainers(t *testing.T) map[int]trainer {
	folders, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	found := map[int]trainer{}
	for _, folder := range folders {
		command, _ := os.ReadFile(filepath.Join(folder, "cmdline"))
		status, _ := os.ReadFile(filepath.Join(folder, "status"))
		if !strings.Contains(string(command), "/jobs/run.py") || !firstProcess.Match(status) {
			continue
		}
		cgroups, _ := os.ReadFile(filepath.Join(folder, "cgroup"))
		pid, err := strconv.Atoi(filepath.Base(folder))
		require.NoError(t, err)
		found[pid] = trainer{cgroups: string(cgroups), running: runningProcess.Match(status)}
	}
	return found
}

var (
	// firstProcess matches the status of the first process of a PID namespace.
	firstProcess = regexp.MustCompile(`(?m)^NSpid:.*\t1$`)
	// runningProcess matches the status of a process that has a core or waits for one.
	runningProcess = regexp.MustCompile(`(?m)^State:\s+R`)
)
