package programtest

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon"
)

// Help compares what --help prints with a file. The test's argument -rewrite writes the file.
func Help(t *testing.T, program daemon.Program, file string) {
	t.Helper()
	help := program.Help()
	if flag.Lookup("rewrite").Value.String() == "true" {
		require.NoError(t, os.WriteFile(file, []byte(help), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "go test -run TestHelp -rewrite writes it")
	require.Equal(t, string(want), help)
}

func init() { flag.Bool("rewrite", false, "write the files that the tests compare with") }
