package turnbench

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

var (
	outFile   = flag.String("turns", "", "measure turns of a GPU, and write the figures to this file")
	quickRun  = flag.Bool("quick", false, "measure for a shorter time, to see that the benchmark works")
	deviceArg = flag.String("device", "emulated", "what computes: cuda, or emulated (the first core of this machine)")
	phaseArg  = flag.String("phases", "", "the phases to run, separated by commas; default all: "+strings.Join(phaseNames(), ", "))
	keepArg   = flag.Bool("keep", false, "keep the figures of other phases that the file has")
	repeatArg = flag.Int("repeats", 6, "repeats of the phases ten and throughput")
	lengthArg = flag.Float64("length", 1, "length of the jobs of phase ten; 1: a quarter of a minute each, alone on one core")
	logArg    = flag.String("log", "", "write the log of the coordinators to this file, as lines of JSON")
	pythonArg = flag.String("python", "/usr/bin/python3", "an interpreter with PyTorch, scikit-learn and SciPy")
)

// phase is one row of the report, or several rows that one run answers.
type phase struct {
	name, question string
	run            func(b *bench)
}

// phases lists all phases, in the order in which they run.
func phases() []phase {
	return []phase{
		{"shares", "do two jobs hold the GPU as their weights say, and how long is it idle between two holders?", shares},
		{"step", "what does step() cost while the job holds the GPU?", stepCost},
		{"throughput", "do four jobs in turns get as much done as under plain sharing?", throughput},
		{"launches", "do two jobs that leave gaps lose by turns?", launches},
		{"faults", "how long do others wait for a job that hangs, dies or floods, or for a coordinator?", faults},
		{"ddp", "does a job with two ranks survive pauses, with the same result?", ddp},
		{"ten", "do ten jobs end earlier than under plain sharing?", ten},
	}
}

func phaseNames() (names []string) {
	for _, p := range phases() {
		names = append(names, p.name)
	}
	return names
}

// TestTurns runs the phases and writes the figures. A missed goal is no failure: the figures show it.
func TestTurns(t *testing.T) {
	if *outFile == "" {
		t.Skip("`make bench-turns` measures")
	}
	b := newBench(t)
	chosen := phaseNames()
	if *phaseArg != "" {
		chosen = strings.Split(*phaseArg, ",")
	}
	for _, name := range chosen {
		require.Contains(t, phaseNames(), name, "-phases")
	}
	for _, p := range phases() {
		if !slices.Contains(chosen, p.name) {
			continue
		}
		b.progress("%s: %s", p.name, p.question)
		began := time.Now()
		b.phase = p.name
		p.run(b)
		b.phases = append(b.phases, phaseTime{Name: p.name, Seconds: time.Since(began).Seconds(), Commit: b.commit})
		b.write() // a later phase may fail
	}
	b.print()
}

// bench has what all phases share, and the figures so far.
type bench struct {
	t        *testing.T
	log      *slog.Logger // of the coordinators
	began    time.Time
	commit   string // when it began
	device   string
	python   string
	shim     string
	jobs     string // folder of the training programs
	testdata string
	// cores are the cores of this machine. The emulated GPU is the first.
	cores []int

	phase  string // the present one
	goals  []goal
	phases []phaseTime
	chart  chart
}

func newBench(t *testing.T) *bench {
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	b := &bench{
		t:        t,
		began:    time.Now(),
		commit:   presentCommit(),
		device:   *deviceArg,
		python:   *pythonArg,
		shim:     filepath.Join(root, "growth/shim/gpushare.py"),
		jobs:     filepath.Join(root, "benchmarks/jobs"),
		testdata: filepath.Join(root, "coordinator/internal/turnbench/testdata"),
		cores:    allowedCores(t),
		log:      slog.New(slog.DiscardHandler),
	}
	if *logArg != "" {
		file, err := os.Create(*logArg)
		require.NoError(t, err)
		t.Cleanup(func() { _ = file.Close() })
		b.log = slog.New(slog.NewJSONHandler(file, nil))
	}
	require.Contains(t, []string{"cuda", "emulated"}, b.device, "-device")
	if b.device == "emulated" {
		require.Greater(t, len(b.cores), 1, "an emulated GPU needs a core of its own: this process may use only %v", b.cores)
		leaveCore(t, b.cores[1:])
	}
	return b
}

// allowedCores lists the cores that this process may use.
func allowedCores(t *testing.T) (cores []int) {
	var set unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &set))
	for core := 0; core < 8*len(set)*8; core++ {
		if set.IsSet(core) {
			cores = append(cores, core)
		}
	}
	return cores
}

// coreList lists the cores for taskset.
func (b *bench) coreList() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(b.cores), " ", ","), "[]")
}

// leaveCore binds all threads of this process to some cores. Later threads inherit that.
func leaveCore(t *testing.T, cores []int) {
	var set unix.CPUSet
	for _, core := range cores {
		set.Set(core)
	}
	tasks, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	for _, task := range tasks {
		var id int
		_, err := fmt.Sscan(task.Name(), &id)
		require.NoError(t, err)
		require.NoError(t, unix.SchedSetaffinity(id, &set))
	}
}

// program returns the path of a program of benchmarks/jobs or testdata.
func (b *bench) program(name string) string {
	for _, folder := range []string{b.testdata, b.jobs} {
		if path := filepath.Join(folder, name); name != "gpushare.py" {
			if _, err := os.Stat(path); err == nil {
				return path
			}
		}
	}
	b.t.Fatalf("no program %s", name)
	return ""
}

// train returns the arguments of benchmarks/jobs/run.py for a job that computes more than it loads.
func (b *bench) train(kind string, steps, seed int, more ...string) []string {
	if b.device == "cuda" && kind != "mlp" {
		more = append(more, "--width", fmt.Sprint(cardWidth))
	}
	return append([]string{
		kind,
		"--device", b.device,
		"--steps", fmt.Sprint(steps),
		"--batch-size", fmt.Sprint(b.batch(kind)),
		"--workers", "1",
		"--preprocess", "0",
		"--seed", fmt.Sprint(seed),
	}, more...)
}

// On a card the mlp stays bound by launches. Larger batches and wider layers keep the card busy with the other kinds: a step
// took about 30 ms on an H100, with its data.
const cardBatch, cardWidth = 512, 16

// batch returns the batch size of a kind.
func (b *bench) batch(kind string) int {
	if b.device == "cuda" && kind != "mlp" {
		return cardBatch
	}
	return 32
}

// endless is a number of steps that no job reaches.
const endless = 1 << 30

// span returns a duration, or a shorter one for a quick run.
func (b *bench) span(full, quick time.Duration) time.Duration {
	if *quickRun {
		return quick
	}
	return full
}

func (b *bench) repeats() int {
	if *quickRun {
		return 1
	}
	return *repeatArg
}

// progress prints a line while the benchmark runs.
func (b *bench) progress(format string, args ...any) {
	fmt.Printf("%5.0f s  %s\n", time.Since(b.began).Seconds(), fmt.Sprintf(format, args...))
}

// measure waits for a span and returns it as a window.
func (b *bench) measure(d time.Duration) window {
	w := window{from: now()}
	time.Sleep(d)
	w.to = now()
	return w
}

// trained waits until each job has made some steps.
func (b *bench) trained(jobs ...*job) {
	for _, j := range jobs {
		require.Eventually(b.t, func() bool {
			select {
			case <-j.done:
				b.t.Fatalf("%s has ended: %v: %s", j.name, j.err, strings.Join(j.lines, "\n"))
			default:
			}
			return len(j.steps(b)) >= 5
		}, 2*time.Minute, 200*time.Millisecond, "%s makes no steps", j.name)
	}
}
