package torchloader_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/torchloader"
)

func read(t *testing.T, name string) []torchloader.Application {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name))
	require.NoError(t, err)
	defer file.Close()
	applications, err := torchloader.Read(file)
	require.NoError(t, err)
	return applications
}

func TestRead_NodesWithoutNames(t *testing.T) {
	require.Equal(t, []torchloader.Application{
		{
			Architecture: "resnet", Depth: "18", Batch: 256, Workers: 12,
			Nodes: []torchloader.Node{{Devices: []int{0, 1}}, {Devices: []int{0, 1}}},
			End:   torchloader.Position{Iteration: 2000},
		},
		{
			Architecture: "vgg", Depth: "13", Batch: 96, Workers: 5, Arrival: 12500 * time.Millisecond,
			Nodes: []torchloader.Node{{Devices: []int{0, 1}}, {Devices: []int{2}}},
			Start: torchloader.Position{Iteration: 100},
			End:   torchloader.Position{Iteration: 50, Epoch: 1},
		},
	}, read(t, "readme.csv"))
}

func TestRead_NamedNodes(t *testing.T) {
	all := read(t, "code.csv")
	require.Equal(t, []torchloader.Node{{Name: "d3091", Devices: []int{0, 1}}}, all[0].Nodes)
	require.Equal(t, []torchloader.Node{{Name: "d3091", Devices: []int{3}}, {Name: "d3092", Devices: []int{0}}}, all[1].Nodes)
	require.Empty(t, all[1].Depth)
}

func TestRead_SingleNode(t *testing.T) {
	all := read(t, "single.csv")
	require.Equal(t, []torchloader.Node{{Devices: []int{1, 0}}}, all[0].Nodes)
	require.Equal(t, 5*time.Second, all[0].Arrival)
	require.Equal(t, 12*time.Second, all[1].Arrival, "intervals add up")
}

func TestApplication_PartsAreInProportionToDevices(t *testing.T) {
	vgg := read(t, "readme.csv")[1]
	require.Equal(t, []torchloader.Part{
		{Node: vgg.Nodes[0], Batch: 64, Workers: 3},
		{Node: vgg.Nodes[1], Batch: 32, Workers: 2},
	}, vgg.Parts())
	few := torchloader.Application{Batch: 7, Workers: 1, Nodes: vgg.Nodes[:1:1]}
	few.Nodes = append(few.Nodes, vgg.Nodes...)
	parts := few.Parts()
	require.Equal(t, []int{3, 3, 1}, []int{parts[0].Batch, parts[1].Batch, parts[2].Batch})
	require.Equal(t, []int{1, 1, 1}, []int{parts[0].Workers, parts[1].Workers, parts[2].Workers}, "at least one each")
}

func TestApplication_Iterations(t *testing.T) {
	all := read(t, "readme.csv")
	require.Equal(t, 2000, all[0].Iterations())
	require.Equal(t, 13346+50-100, all[1].Iterations(), "an epoch of ImageNet has 13,346 batches of 96")
}

const header = "arch,depth,batch,workers,output_folder,port,arrival_time,cuda_device,start_iter,start_epoch,end_iter,end_epoch"

func TestRead_NamesLineAndColumn(t *testing.T) {
	for name, tc := range map[string]struct{ row, complaint string }{
		"a program":                {"__import__('os'),18,32,4,/o,1,0,0,0,0,1,0", "line 2, column arch (character 1): \"__import__('os')\" is not an architecture"},
		"a depth of words":         {"vgg,very deep,32,4,/o,1,0,0,0,0,1,0", "column depth (character 5)"},
		"no batch":                 {"vgg,13,0,4,/o,1,0,0,0,0,1,0", "column batch (character 8)"},
		"no workers":               {"vgg,13,32,-4,/o,1,0,0,0,0,1,0", "column workers (character 11)"},
		"a port that is none":      {"vgg,13,32,4,/o,65536,0,0,0,0,1,0", "column port"},
		"an infinite time":         {"vgg,13,32,4,/o,1,Inf,0,0,0,1,0", "column arrival_time"},
		"no device":                {"vgg,13,32,4,/o,1,0,,0,0,1,0", "column cuda_device (character 20): \"\": expected a device at character 1"},
		"a negative device":        {"vgg,13,32,4,/o,1,0,-1,0,0,1,0", "expected a device from 0 to 1023 at character 1"},
		"the same device twice":    {"vgg,13,32,4,/o,1,0,1 1,0,0,1,0", "device 1 occurs twice"},
		"an expression":            {"vgg,13,32,4,/o,1,0,exit(0),0,0,1,0", "expected a device"},
		"an open list":             {"vgg,13,32,4,/o,1,0,['0 1',0,0,1,0", "column cuda_device (character 20): \"['0 1'\": expected a quote at character 7"},
		"an empty list":            {"vgg,13,32,4,/o,1,0,[],0,0,1,0", "expected a node at character 2"},
		"a list of no devices":     {"vgg,13,32,4,/o,1,0,[''],0,0,1,0", "expected a device at character 3"},
		"an empty dictionary":      {"vgg,13,32,4,/o,1,0,{},0,0,1,0", "expected a node at character 2"},
		"a node without a name":    {"vgg,13,32,4,/o,1,0,{'':[0]},0,0,1,0", "expected the name of a node"},
		"a node without devices":   {"vgg,13,32,4,/o,1,0,{'a'},0,0,1,0", "expected ':' at character 5"},
		"a node twice":             {"vgg,13,32,4,/o,1,0,{'a':[0] 'a':[1]},0,0,1,0", "node \"a\" occurs twice"},
		"something behind":         {"vgg,13,32,4,/o,1,0,{'a':[0]}+1,0,0,1,0", "expected the end of the field at character 10"},
		"more devices than images": {"vgg,13,2,4,/o,1,0,0 1 2,0,0,1,0", "a batch of 2 samples is less than one for each of 3 devices"},
		"no iteration":             {"vgg,13,32,4,/o,1,0,0,5,0,5,0", "column end_epoch"},
		"too many iterations":      {"vgg,13,1,4,/o,1,0,0,0,0,0,79", "column end_epoch (character 27): 101212193 iterations"},
		"an end before the start":  {"vgg,13,32,4,/o,1,0,0,0,2,5,1", "column end_epoch"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := torchloader.Read(strings.NewReader(header + "\n" + tc.row + "\n"))
			require.ErrorContains(t, err, tc.complaint)
		})
	}
}

func TestRead_NodeSizeMustAgree(t *testing.T) {
	file := header + ",node_size\nvgg,13,32,4,/o,1,0,\"['0' '1']\",0,0,1,0,3\n"
	_, err := torchloader.Read(strings.NewReader(file))
	require.ErrorContains(t, err, "line 2, column node_size (character 40): 3 nodes, but cuda_device has the devices of 2")
}

func TestRead_NeedsOneTimeOfArrival(t *testing.T) {
	row := "vgg,13,32,4,/o,1,0,0,0,1,0\n"
	_, err := torchloader.Read(strings.NewReader(strings.Replace(header, "arrival_time,", "", 1) + "\n" + row))
	require.ErrorContains(t, err, "line 2, column cuda_device (character 18): the file must have either arrival_time or submit_interval")
}

func FuzzRead(f *testing.F) {
	for _, devices := range []string{"0", `["0 1" "0 1"]`, "{'d3091':[0 1]}", `"1 0"`, "{'a':[0],'b':[1]}", "[\"0\x00", "{'"} {
		f.Add(header + "\nvgg,13,32,4,/o,1,0," + devices + ",0,0,1,0\n")
	}
	f.Fuzz(func(t *testing.T, file string) {
		all, err := torchloader.Read(strings.NewReader(file))
		if err != nil {
			return
		}
		for _, a := range all {
			batch := 0
			for _, part := range a.Parts() {
				if part.Batch < len(part.Node.Devices) || part.Workers < 1 {
					t.Fatalf("accepted an invalid part: %+v of %+v", part, a)
				}
				batch += part.Batch
			}
			if batch != a.Batch || a.Iterations() < 1 || a.Arrival < 0 {
				t.Fatalf("accepted an invalid application: %+v", a)
			}
		}
	})
}
