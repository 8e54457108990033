package extenderbench

import (
	"encoding/binary"
	"fmt"
	"os"
)

// latency is the kernel's file for the highest wake-up latency of a processor, in microseconds. The lowest value of
// all open files counts (PM QoS, as cyclictest does).
const latency = "/dev/cpu_dma_latency"

// awake keeps idle processors awake until the returned function is called. On a virtual machine, idle processors go
// back to the hypervisor, which may take milliseconds to return one. That delay would appear in the time of each
// request.
func awake() (sleep func(), err error) {
	file, err := os.OpenFile(latency, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	if err := binary.Write(file, binary.NativeEndian, int32(0)); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("%s: %w", latency, err)
	}
	return func() { _ = file.Close() }, nil
}
