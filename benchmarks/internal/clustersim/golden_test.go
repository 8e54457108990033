package clustersim

import (
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "write the golden digests")

// The figures that are published must not change by the way in which they are computed, not even by their rounding.
func TestSystems_ResultsAreBitIdentical(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("other processors round multiplications and additions together")
	}
	var lines []string
	add := func(s Schedule, system System, seed uint64) {
		got := newCluster(s, system, seed).run(s.draw(seed))
		lines = append(lines, fmt.Sprintf("%s, %s, seed %d: %s", s.Name, system.Name, seed, got.digest()))
	}
	for _, system := range Systems() {
		add(tiny, system, 1)
		add(tiny, system, 2)
	}
	for _, s := range Schedules() {
		if s.Name == judged {
			add(s, Systems()[1], 1)
			add(s, Systems()[2], 1)
			add(s, Systems()[3], 1)
		}
	}
	path, text := filepath.Join("testdata", "digests.txt"), strings.Join(lines, "\n")+"\n"
	if *rewrite {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), text, "publish the figures again if they are meant to change, and run this with -rewrite")
}

// digest identifies an outcome by all of its bits.
func (o outcome) digest() string {
	hash := sha256.New()
	write := func(bits uint64) { hash.Write(binary.LittleEndian.AppendUint64(nil, bits)) }
	for i, end := range o.ends {
		write(math.Float64bits(end))
		write(uint64(o.moves[i]))
	}
	write(math.Float64bits(o.makespan))
	write(math.Float64bits(o.unevenness))
	return fmt.Sprintf("%x", hash.Sum(nil)[:12])
}
