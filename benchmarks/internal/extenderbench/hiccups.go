package extenderbench

import (
	"os"
	"path/filepath"

	"github.com/trellis-gpu/trellis/benchmarks/internal/hiccup"
)

// watching is the process that notices when the machine stands still.
type watching struct{ *process }

func (b *bench) watch() (watching, error) {
	p, err := launch(b.dir, filepath.Join(b.Binaries, "benchmarks"), "hiccups")
	return watching{p}, err
}

// seen is what it has noticed. Without the right to notice anything it has ended, and said why.
func (w watching) seen() (hiccup.Spans, error) {
	log, err := os.Open(w.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	return hiccup.Read(log)
}
