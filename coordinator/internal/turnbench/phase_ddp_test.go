package turnbench

import (
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"
)

// ddp runs a job with two ranks next to a single job, and compares its losses with those of an ungated run.
func ddp(b *bench) {
	steps := int(b.span(20_000, 300)) // enough for a thousand pauses
	args := []string{"--device", b.device, "--steps", fmt.Sprint(steps), "--ranks", "2", "--batch-size", "8"}
	m := b.newMachine()
	m.start(harmless)
	ranks := m.launch("ranks", "ddp.py", args...)
	single := m.launch("single", "run.py", b.train("cnn", endless, 2)...)
	b.trained(single)
	m.weigh(map[*job]float64{ranks: 1, single: 1})
	ranks.wait(b)
	m.close()
	waits := 0
	for rank := range 2 {
		record, err := readSteps(fmt.Sprintf("%s.%d", ranks.record, rank))
		require.NoError(b.t, err)
		if rank == 0 {
			waits = pauses(record)
		}
	}
	b.figure("two ranks: pauses without a deadlock", "", float64(waits)).atLeast(1000)

	alone := b.newMachine().launch("alone", "ddp.py", args...)
	alone.wait(b)
	different := 0.0
	if curve(ranks) == "" || curve(ranks) != curve(alone) {
		different = 1
		b.progress("    gated: %s", ranks.output("rank=0 "))
		b.progress("    alone: %s", alone.output("rank=0 "))
	}
	b.figure("two ranks: loss curves that differ from an ungated run", "", different).atMost(0)
}

// curve returns the losses of rank 0, and its result if it prints one.
func curve(j *job) string {
	var lines []string
	for _, line := range j.lines {
		if strings.HasPrefix(line, "rank=0 ") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
