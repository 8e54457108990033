package cli

import (
	"os"
	"time"

	"golang.org/x/term"

	"github.com/trellis-gpu/trellis/benchmarks/internal/demo"
	"github.com/trellis-gpu/trellis/benchmarks/internal/table"
)

// tableEvery is the interval of tables on the plain screen.
const tableEvery = 15 * time.Second

// screen returns the requested screen, or one for standard output.
func screen(output string) (demo.Screen, error) {
	stdout := int(os.Stdout.Fd())
	if output == "" {
		output = "plain"
		if term.IsTerminal(stdout) {
			output = "table"
		}
	}
	switch output {
	case "json":
		return table.Stream{Out: os.Stdout}, nil
	case "plain":
		return &table.Plain{Out: os.Stdout, Every: tableEvery}, nil
	}
	return &table.Live{Out: os.Stdout, Size: func() (int, int) {
		if width, height, err := term.GetSize(stdout); err == nil {
			return width, height
		}
		return 120, 40
	}}, nil
}
