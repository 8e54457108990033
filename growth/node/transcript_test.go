package node_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the transcripts in testdata with the current output")

// TestTranscripts runs the scenarios in testdata/*.txt. A block has commands, a line "----", and the node's effects up
// to an empty line. The commands are:
//
//	# a comment
//	node policy=flowcon interval=10s cores=2         start a coordinator
//	pod a cpu=500m metric=loss:min                   start a pod; kubelet allocates a GPU and the slot slot-a. It can have
//	                                                 init=2000m, sidecar=50m, class=1000 and fixed=its_class_is_Guaranteed
//	report a step=10 loss=2.3 total=90 loaders=2     the job reports through its socket
//	log a unmatched step 1                           60 lines of a's log have no report; one of them is "step 1"
//	log a format like syslog, log a unreadable why   a's log has another format, or is unreadable
//	tick 10s a=5s                                    a round 10 s later; a has used 5 s of CPU
//	train 3 a=falling b=flat                         three rounds of 10 s; in each, a and b report and use 5 s of CPU
//	ddp 3 a ranks=2 by=rank                          three rounds of 10 s; in each, two ranks report 20 steps, in turns of 4
//	redraw 3 a, unnumbered 3 a loss=1                three rounds in which a repeats its last report, or reports without a step
//	scaled 3 a factor=1000                           three rounds in which the falling loss of a has another scale
//	leaves a connection=1                            a process of a closes its connection
//	wait                                             let time pass until Effects.Wake
//	kubelet refuses a: no room, kubelet accepts a    kubelet's answer to later increases of a's request
//	write a cpu=900m by=vpa-updater                  another client resizes a; without by, its name is unknown
//	quota cpu refuses a, quota cpu accepts           the API server's answer to later increases of a's request
//	kubelet ignores a, kubelet applies               whether later resizes of a change the weight of its cgroup
//	others cpu=800m, exclusive a=2                   requests of all other pods of the node, cores that a has alone
//	restart a, delete a, advise a loaders=4, ack a   restart the container, delete the pod, give advice, acknowledge it
//	ends a, starts a                                 the container of a ends or starts again; its pod is Running
//	inventory computes mps                           the device plugin publishes GPUs that compute; with mps, jobs are clients of MPS
//	pod a gpus=GPU-0,GPU-1                           start a pod on these GPUs instead of GPU-0
//	trains a seconds=60 need=20                      a computes for 60 s alone and reports a loss that reaches its target after
//	                                                 20 s. With shim=old it is not connected for turns; it can have world_size=2
//	                                                 It can use at most the part demand=0.2 of its GPUs' time. With turns=ignored
//	                                                 it computes all the time, and says that it stops after its turn
//	learned a,b speed=0.5                            other nodes have measured that a and b compute at half speed together, and
//	                                                 the cluster's model follows
//	unlearned                                        the cluster's model is gone
//	driver measures                                  the driver measures how long the kernels of each job run
//	compute 60s                                      60 s pass, with rounds and wake-ups
//	sample a b                                       note what the samples of a and b have about GPU time
//	reference a                                      note when fair sharing would end a
//	pressure 0.5                                     a round in which tasks have waited for a CPU in half of the time
//	coordinator restarts                             start a new node with the memory of the old one
//
// Run the test with -rewrite to accept the current output.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			content, err := os.ReadFile(file)
			require.NoError(t, err)
			got := play(t, string(content))
			if *rewrite {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
				return
			}
			require.Equal(t, string(content), got)
		})
	}
}

// play runs the commands of a transcript and returns the transcript with their output.
func play(t *testing.T, transcript string) string {
	var out strings.Builder
	s := &scenario{t: t}
	inOutput := false
	for line := range strings.Lines(strings.TrimRight(transcript, "\n") + "\n\n") {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "----":
			inOutput = true
			out.WriteString("----\n" + s.output() + "\n")
		case line == "" && inOutput:
			inOutput = false
		case inOutput: // the recorded output is replaced
		default:
			out.WriteString(line + "\n")
			if line != "" && !strings.HasPrefix(line, "#") {
				s.run(line)
			}
		}
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}
