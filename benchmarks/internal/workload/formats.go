package workload

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Format is the form of a file of jobs.
type Format string

// The formats.
const (
	Own         Format = "trellis"
	Torchloader Format = "torchloader"
	QoreDL      Format = "qore-dl"
)

// formats lists each format with the beginning of its header, and how to read it.
var formats = []struct {
	name   Format
	header string
	read   func(io.Reader, Defaults) (Workload, error)
}{
	{Own, "name,kind,", func(r io.Reader, _ Defaults) (Workload, error) { return Parse(r) }},
	{Torchloader, "arch,depth,", readTorchloader},
	{QoreDL, "batch,flops,", readQoreDL},
}

// Formats lists all formats.
func Formats() (names []string) {
	for _, f := range formats {
		names = append(names, string(f.name))
	}
	return names
}

// Read reads a file of jobs in a format, or in the one that its header shows if format is empty. The jobs are examples of
// benchmarks/jobs that stand in for those of other formats.
func Read(r io.Reader, format Format, d Defaults) (Workload, error) {
	buffered := bufio.NewReader(r)
	var headers []string
	for _, f := range formats {
		beginning, err := buffered.Peek(len(f.header))
		if err != nil && err != io.EOF {
			return nil, err
		}
		if f.name == format || format == "" && string(beginning) == f.header {
			return f.read(buffered, d)
		}
		headers = append(headers, fmt.Sprintf("%q (%s)", f.header, f.name))
	}
	if format != "" {
		return nil, fmt.Errorf("unknown format %q: %s", format, strings.Join(Formats(), ", "))
	}
	return nil, fmt.Errorf("line 1: unknown columns; the header of a workload begins with %s", strings.Join(headers, ", "))
}
