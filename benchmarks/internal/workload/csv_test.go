package workload_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
)

const header = "name,kind,arrival_seconds,steps,batch_size,gpu_mem,cpu,metric,progress,seed\n"

func TestParse(t *testing.T) {
	jobs, err := workload.Parse(strings.NewReader(header +
		"late,gru,7.5,300,32,500Mi,2,accuracy:max,\"log:acc=([0-9.]+), step\",7\n" +
		"early,vae,0,200,64,8Gi,150m,loss:min,socket,1\n"))
	require.NoError(t, err)
	require.Equal(t, workload.Workload{
		{Name: "early", Kind: "vae", Steps: 200, Batch: 64, GPUMemory: "8Gi", CPU: 150, Metric: "loss:min", Progress: "socket", Seed: 1, Device: workload.CPU},
		{
			Name: "late", Kind: "gru", Arrival: 7500 * time.Millisecond, Steps: 300, Batch: 32, GPUMemory: "500Mi", CPU: 2000,
			Metric: "accuracy:max", Progress: "log:acc=([0-9.]+), step", Seed: 7, Device: workload.CPU,
		},
	}, jobs)
	require.Equal(t, []string{"vae", "gru"}, jobs.Kinds())
	require.True(t, jobs[0].UsesShim())
	require.False(t, jobs[1].UsesShim())
}

func TestParse_DeviceIsOptional(t *testing.T) {
	jobs, err := workload.Parse(strings.NewReader(strings.TrimSuffix(header, "\n") + ",device\n" +
		"a,mlp,0,200,64,8Gi,150m,loss:min,socket,1,emulated\nb,transformer,0,200,64,8Gi,150m,loss:min,socket,1,cpu\n"))
	require.NoError(t, err)
	require.Equal(t, []string{workload.Emulated, workload.CPU}, []string{jobs[0].Device, jobs[1].Device})
	for row, complaint := range map[string]string{
		"a,mlp,0,200,64,8Gi,150m,loss:min,socket,1,tpu\n":           "column device (character 43): \"tpu\" is neither cpu nor emulated",
		"a,mlp,0,200,64,8Gi,150m,loss:min,log:l=(.*),1,emulated\n":  "with progress from the socket",
		"a,guaranteed,0,2,64,8Gi,150m,loss:min,socket,1,emulated\n": "of one of the kinds vae",
	} {
		_, err := workload.Parse(strings.NewReader(strings.TrimSuffix(header, "\n") + ",device\n" + row))
		require.ErrorContains(t, err, complaint)
	}
}

func TestParse_NamesLineAndColumn(t *testing.T) {
	good := "a,vae,0,200,64,8Gi,150m,loss:min,socket,1\n"
	for name, tc := range map[string]struct{ file, complaint string }{
		"an empty file":           {"", "first line must be name,kind"},
		"a header alone":          {header, "a header and no rows"},
		"another header":          {"name,kind\n", "line 1: the columns are"},
		"a missing field":         {header + good + "b,vae,0\n", "line 3: the number of fields is 3"},
		"an unknown kind":         {header + "a,llm,0,200,64,8Gi,150m,loss:min,socket,1\n", "line 2, column kind (character 3)"},
		"a name with capitals":    {header + "A,vae,0,200,64,8Gi,150m,loss:min,socket,1\n", "column name"},
		"the same name twice":     {header + good + good, "line 3, column name (character 1): \"a\" is already"},
		"time before the start":   {header + "a,vae,-1,200,64,8Gi,150m,loss:min,socket,1\n", "column arrival_seconds"},
		"not a time":              {header + "a,vae,NaN,200,64,8Gi,150m,loss:min,socket,1\n", "column arrival_seconds"},
		"no steps":                {header + "a,vae,0,0,64,8Gi,150m,loss:min,socket,1\n", "column steps"},
		"a huge batch":            {header + "a,vae,0,200,70000,8Gi,150m,loss:min,socket,1\n", "column batch_size"},
		"memory of nothing":       {header + "a,vae,0,200,64,0,150m,loss:min,socket,1\n", "column gpu_mem"},
		"no CPU":                  {header + "a,vae,0,200,64,8Gi,0m,loss:min,socket,1\n", "column cpu"},
		"a metric that goes down": {header + "a,vae,0,200,64,8Gi,150m,loss:down,socket,1\n", "column metric"},
		"a pattern without group": {header + "a,vae,0,200,64,8Gi,150m,loss:min,log:loss,1\n", "column progress"},
		"a negative seed":         {header + "a,vae,0,200,64,8Gi,150m,loss:min,socket,-1\n", "column seed"},
		"a stray quote":           {header + "a\",vae,0\n", "line 2, column 2"},
		"a flood":                 {header + strings.Repeat("#", 1<<20), "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := workload.Parse(strings.NewReader(tc.file))
			require.ErrorContains(t, err, tc.complaint)
		})
	}
}

func TestShippedWorkloads(t *testing.T) {
	for file, jobs := range map[string]int{"demo.csv": 8} {
		f, err := os.Open("../../workloads/" + file)
		require.NoError(t, err)
		defer f.Close()
		w, err := workload.Parse(f)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(w), jobs)
		require.Equal(t, workload.Kinds(), w.Kinds(), "every kind of job is shown")
		withoutShim := 0
		for _, job := range w {
			if !job.UsesShim() {
				withoutShim++
			}
		}
		require.Equal(t, 2, withoutShim, "two jobs need no change of their code")
		for _, variant := range workload.Variants() {
			require.True(t, slices.ContainsFunc(w, func(j workload.Job) bool { return j.Kind == variant }), variant)
		}
		for i, job := range w.Quick() {
			require.Less(t, job.Steps, w[i].Steps)
			require.LessOrEqual(t, job.Arrival, w[i].Arrival)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(header + "a,vae,0,200,64,8Gi,150m,loss:min,socket,1\n")
	f.Add(header + "a,vae,1e300,200,64,8Gi,150m,loss:min,\"log:(\n)\",1\n")
	f.Add("\"")
	f.Fuzz(func(t *testing.T, file string) {
		jobs, err := workload.Parse(strings.NewReader(file))
		if err != nil {
			return
		}
		names := map[string]bool{}
		for _, j := range jobs {
			if names[j.Name] || j.Steps < 1 || j.Batch < 1 || j.CPU < 1 || j.Arrival < 0 {
				t.Fatalf("accepted an invalid workload: %+v", j)
			}
			names[j.Name] = true
		}
	})
}
