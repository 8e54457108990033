package envflags_test

import (
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deploy/local/internal/envflags"
)

func TestSet_FlagsWinOverTheEnvironment(t *testing.T) {
	env := map[string]string{"TRELLIS_STOCK_DIR": "/stock", "TRELLIS_NODES": "3", "TRELLIS_NAME": "env"}
	lookup := func(key string) (string, bool) { v, ok := env[key]; return v, ok }
	set := pflag.NewFlagSet("up", pflag.ContinueOnError)
	dir := set.String("stock-dir", "", "")
	nodes := set.Int("nodes", 2, "")
	name := set.String("name", "trellis", "")
	root := set.String("state-root", "/default", "")
	require.NoError(t, set.Parse([]string{"--name=flag"}))

	require.NoError(t, envflags.Set(set, lookup))
	require.Equal(t, "/stock", *dir)
	require.Equal(t, 3, *nodes)
	require.Equal(t, "flag", *name, "the flag wins")
	require.Equal(t, "/default", *root)

	env["TRELLIS_NODES"] = "many"
	again := pflag.NewFlagSet("up", pflag.ContinueOnError)
	again.Int("nodes", 2, "")
	require.ErrorContains(t, envflags.Set(again, lookup), "TRELLIS_NODES")
}
