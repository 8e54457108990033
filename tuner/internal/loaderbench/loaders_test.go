package loaderbench

import (
	"flag"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	outFile   = flag.String("loader", "", "measure the division of data-loader workers, and write the figures to this file")
	quickRun  = flag.Bool("quick", false, "measure for a shorter time, to see that the benchmark works")
	phaseArg  = flag.String("phase", "", "virtual or real; default: both")
	mixArg    = flag.String("mix", "", "storage, decode or equal; default: all, with -quick decode")
	pythonArg = flag.String("python", "/usr/bin/python3", "an interpreter with PyTorch and SciPy")
)

// bench has the figures so far.
type bench struct {
	t    *testing.T
	shim string // folder of gpushare.py

	phase     string // the present one
	seedCount int
	goals     []goal
	phases    []phaseTime
	// details are the allocations of the contestants.
	details map[string]string
}

// TestLoaders measures and writes the figures. A missed goal is no failure: the figures show it.
func TestLoaders(t *testing.T) {
	if *outFile == "" {
		t.Skip("`make bench-loader` measures")
	}
	shim, err := filepath.Abs("../../../growth/shim")
	require.NoError(t, err)
	b := &bench{t: t, shim: shim, details: map[string]string{}}
	for _, p := range []struct {
		name string
		run  func(*bench)
	}{{"virtual", virtual}, {"real", realJobs}} {
		if *phaseArg != "" && *phaseArg != p.name {
			continue
		}
		fmt.Println(p.name)
		began := time.Now()
		b.phase = p.name
		p.run(b)
		b.phases = append(b.phases, phaseTime{p.name, time.Since(began).Seconds()})
		b.write()
	}
}
