package storm

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// Witness is what a container reported about itself in its termination message.
type Witness struct {
	// Began and Ended are the start and the end, as the machine's uptime.
	Began, Ended time.Duration
	GPUs         []growth.GPU
	// Memory is the GPU memory on each of GPUs.
	Memory []growth.MiB
}

// script is the program of the container. It sleeps for the planned time, or until the gate opens, and then writes the
// message that ParseWitness reads.
const script = `read began _ </proc/uptime
if [ "$1" = gate ]; then while [ ! -e /gate/open ]; do sleep 0.5; done; else sleep "$1"; fi
read ended _ </proc/uptime
printf '%s %s %s %s\n' "$began" "$ended" "$GPUSHARE_GPU_UUIDS" "$GPUSHARE_GPU_MEM_MIB" >/dev/termination-log
`

// ParseWitness reads a container's termination message: its start and end, its GPUs, and its memory on each.
func ParseWitness(message string) (Witness, error) {
	fields := strings.Fields(message)
	if len(fields) != 4 {
		return Witness{}, fmt.Errorf("the container left %.100q: it has no GPU", message)
	}
	var w Witness
	for i, at := range []*time.Duration{&w.Began, &w.Ended} {
		seconds, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return Witness{}, fmt.Errorf("the container's clock: %w", err)
		}
		*at = time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
	}
	for gpu := range strings.SplitSeq(fields[2], ",") {
		w.GPUs = append(w.GPUs, growth.GPU(gpu))
	}
	for memory := range strings.SplitSeq(fields[3], ",") {
		mib, err := strconv.ParseInt(memory, 10, 64)
		if err != nil {
			return Witness{}, fmt.Errorf("the container's memory: %w", err)
		}
		w.Memory = append(w.Memory, growth.MiB(mib))
	}
	if len(w.Memory) != len(w.GPUs) || w.Ended < w.Began {
		return Witness{}, fmt.Errorf("the container left %.100q, which makes no sense", message)
	}
	return w, nil
}
