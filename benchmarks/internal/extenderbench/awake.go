package extenderbench

import (
	"encoding/binary"
	"fmt"
	"os"
)

// latencyFile limits the wake-up latency of the processors, in microseconds (the kernel's PM QoS; cyclictest uses it too).
// A limit holds while the file is open; the lowest limit of all programs applies.
const latencyFile = "/dev/cpu_dma_latency"

// keepAwake keeps idle processors out of sleep states until release is called. On a virtual machine, an idle processor
// returns to the hypervisor, and to get it back may take milliseconds. That delay would be part of each request's time.
func keepAwake() (release func(), err error) {
	file, err := os.OpenFile(latencyFile, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	if err := binary.Write(file, binary.NativeEndian, int32(0)); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("%s: %w", latencyFile, err)
	}
	return func() { _ = file.Close() }, nil
}
