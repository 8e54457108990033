package workload_test

import (
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
)

var defaults = workload.Defaults{GPUMemory: "4Gi", CPU: 150, Seed: 7}

func open(t *testing.T, path string, format workload.Format) workload.Workload {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	jobs, err := workload.Read(file, format, defaults)
	require.NoError(t, err)
	return jobs
}

func TestRead_TorchloaderTotalsAreDividedAmongNodes(t *testing.T) {
	jobs := open(t, "../torchloader/testdata/readme.csv", "")
	part := workload.Job{
		Name: "job-1-resnet18-node-1", Kind: "ddp", Steps: 2000, Batch: 64, GPUs: 2, Workers: 6,
		GPUMemory: "4Gi", CPU: 150, Metric: "loss:min", Progress: "socket", Seed: 7, Device: workload.CPU,
	}
	require.Equal(t, part, jobs[0])
	part.Name, part.Seed = "job-1-resnet18-node-2", 8
	require.Equal(t, part, jobs[1])
	require.Equal(t, "job-2-vgg13-node-2", jobs[3].Name)
	require.Equal(t, "cnn", jobs[3].Kind, "one device")
	require.Equal(t, []int{32, 2}, []int{jobs[3].Batch, jobs[3].Workers})
	require.Equal(t, 12500*time.Millisecond, jobs[3].Arrival)
}

func TestRead_TorchloaderNamesOfPods(t *testing.T) {
	var names []string
	for _, j := range open(t, "../torchloader/testdata/code.csv", workload.Torchloader) {
		names = append(names, j.Name)
	}
	require.Equal(t, []string{"job-1-small2", "job-2-mobilenet-node-1", "job-2-mobilenet-node-2"}, names)
}

func TestRead_QoreDLConfigurationsBecomeJobs(t *testing.T) {
	jobs := open(t, "../qoredl/testdata/iterations.csv", "")
	require.Len(t, jobs, 2)
	require.Equal(t, []int{128, 512}, []int{jobs[0].Batch, jobs[1].Batch})
	for i, hundred := range []float64{30, 120.25} { // with the most CPU
		require.GreaterOrEqual(t, float64(jobs[i].Work()), hundred-1)
		require.LessOrEqual(t, float64(jobs[i].Work()), 10*hundred)
	}
}

func TestRead_OwnFormat(t *testing.T) {
	require.Len(t, open(t, "../../workloads/demo.csv", ""), 14)
}

func TestRead_UnknownFormats(t *testing.T) {
	_, err := workload.Read(strings.NewReader("a,b\n"), "", defaults)
	require.ErrorContains(t, err, `line 1: unknown columns; the header of a workload begins with "name,kind," (trellis), "arch,depth," (torchloader)`)
	_, err = workload.Read(strings.NewReader(""), "", defaults)
	require.ErrorContains(t, err, "line 1: unknown columns")
	_, err = workload.Read(strings.NewReader("a,b\n"), "yaml", defaults)
	require.ErrorContains(t, err, `unknown format "yaml": trellis, torchloader, qore-dl`)
	_, err = workload.Read(strings.NewReader("name,kind\n"), workload.QoreDL, defaults)
	require.ErrorContains(t, err, "line 1: the columns are", "the user's choice counts")
}

// TestArrivals_AreAsBurstyAsTheReplay compares many draws with the published replay of 300 jobs.
func TestArrivals_AreAsBurstyAsTheReplay(t *testing.T) {
	var gaps []float64
	for seed := range uint64(200) {
		arrivals := workload.Arrivals(300, seed)
		require.Zero(t, arrivals[0])
		for i := 1; i < len(arrivals); i++ {
			gaps = append(gaps, (arrivals[i] - arrivals[i-1]).Seconds())
		}
	}
	slices.Sort(gaps)
	mean, squares := 0.0, 0.0
	for _, g := range gaps {
		mean += g / float64(len(gaps))
		squares += g * g / float64(len(gaps))
	}
	below := func(seconds float64) float64 {
		i, _ := slices.BinarySearch(gaps, seconds)
		return float64(i) / float64(len(gaps))
	}
	require.InDelta(t, 13.4, mean, 0.5)
	require.InDelta(t, 2.65, math.Sqrt(squares-mean*mean)/mean, 0.1)
	require.InDelta(t, 0.66, gaps[len(gaps)/2], 0.03)
	require.InDelta(t, 160.0/299, below(1), 0.01)
	require.InDelta(t, 203.0/299, below(5), 0.01)
	require.LessOrEqual(t, gaps[len(gaps)-1], 257.9)
}

func TestPhilly(t *testing.T) {
	jobs, err := workload.Philly(500, defaults)
	require.NoError(t, err)
	again, err := workload.Philly(500, defaults)
	require.NoError(t, err)
	require.Equal(t, jobs, again, "the seed decides everything")
	kinds := map[string]float64{}
	for _, j := range jobs {
		kinds[j.Kind]++
		require.True(t, j.Work() >= 14.9 && j.Work() <= 45.1, "%+v", j)
	}
	require.InDelta(t, 0.636, kinds["cnn"]/500, 0.06)
	require.InDelta(t, 0.182, kinds["mlp"]/500, 0.05)
	require.InDelta(t, 0.182, kinds["lstm"]/500, 0.05)
	for _, n := range []int{0, -1, 501} {
		_, err = workload.Philly(n, defaults)
		require.ErrorContains(t, err, "there must be 1 to 500")
	}
}

var podName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

func FuzzRead(f *testing.F) {
	for _, path := range []string{"../torchloader/testdata/single.csv", "../qoredl/testdata/iterations.csv", "../../workloads/demo.csv"} {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, file string) {
		jobs, err := workload.Read(strings.NewReader(file), "", defaults)
		if err != nil {
			return
		}
		names := map[string]bool{}
		for _, j := range jobs {
			invalid := names[j.Name] || j.Steps < 1 || j.Batch < 1 || j.Workers < 0 || !(j.Work() > 0) || j.Arrival < 0
			if invalid || !podName.MatchString(j.Name) {
				t.Fatalf("accepted an invalid job: %+v", j)
			}
			names[j.Name] = true
		}
	})
}
