package history

import (
	"testing"

	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/tuner/internal/clustertest"
)

// BenchmarkDecode_Sample decodes one of a hundred samples a second of a thousand jobs.
func BenchmarkDecode_Sample(b *testing.B) {
	cluster := clustertest.Cluster{Jobs: 1, Nodes: 1}
	var entry bus.Entry
	cluster.PutRound(b, 0, func(key string, value []byte) { entry = bus.Entry{Key: key, Value: value} })
	b.SetBytes(int64(len(entry.Value)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decode(entry); err != nil {
			b.Fatal(err)
		}
	}
}
