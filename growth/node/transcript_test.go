package node_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the transcripts in testdata with the present output")

// TestTranscripts runs the scenarios in testdata/*.txt. A block is commands, a line "----" and what the node does about
// them, up to an empty line:
//
//	# a remark
//	node policy=flowcon interval=10s cores=2         start a coordinator
//	pod a cpu=500m metric=loss:min                   a pod runs: it gets a GPU, and the slot slot-a
//	report a step=10 loss=2.3 total=90 loaders=2     a report through the job's socket
//	tick 10s a=5s                                    10 s later, the round; a has used 5 s of CPU
//	train 3 a=falling b=flat                         three rounds of 10 s, in each a report of a and b, and 5 s of CPU
//	wait                                             until the node wakes
//	kubelet refuses a: no room, kubelet accepts a    how kubelet answers resizes that raise a's request from now on
//	restart a, delete a, advise a loaders=4, ack a   a's container, a's pod, the tuner, a's acknowledgement
//	coordinator restarts                             a new node, with the memory of the old one
//
// Run the test with -rewrite to accept the present output.
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

// play runs the commands of a transcript and returns it with the output that they have now.
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
		case inOutput: // the former output
		default:
			out.WriteString(line + "\n")
			if line != "" && !strings.HasPrefix(line, "#") {
				s.run(line)
			}
		}
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}
