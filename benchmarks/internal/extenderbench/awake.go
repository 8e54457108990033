package extenderbench

import (
	"encoding/binary"
	"fmt"
	"os"
)

// latency is the kernel's file for how long a processor may take to wake, in microseconds: the least that anybody asks for
// counts, for as long as he keeps the file open (PM QoS, as cyclictest does).
const latency = "/dev/cpu_dma_latency"

// awake has processors with nothing to do wait awake until the function it returns is called. A virtual machine's are given
// back to its hypervisor otherwise, which may take milliseconds to return one, and a program that is asked one question after
// another is timed by that.
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
