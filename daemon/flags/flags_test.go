package flags_test

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon/flags"
)

type values struct {
	name, node  string
	recreate    bool
	wait, dwell time.Duration
	endpoints   []string
	version     bool
}

func parse(env map[string]string, args ...string) (values, *flags.Set, error) {
	var v values
	set := flags.New("test")
	set.StringVar(&v.name, "the-name", "default", "a name")
	set.StringVar(&v.node, "node-name", "", "the node")
	set.BoolVar(&v.recreate, "recreate", false, "recreate pods")
	set.DurationVar(&v.wait, "wait", time.Second, "how long to wait")
	set.DurationVar(&v.dwell, "dwell", time.Second, "how long to stay")
	set.StringSliceVar(&v.endpoints, "endpoints", nil, "URLs")
	set.BoolVar(&v.version, "version", false, "print the version and exit")
	set.Env("node-name", "NODE_NAME")
	set.Renamed("recreate", "resubmit")
	set.CommandLineOnly("version")
	err := set.Parse(args, func(name string) string { return env[name] })
	return v, set, err
}

func TestParse_CommandLineOverridesEnvironment(t *testing.T) {
	env := map[string]string{"TRELLIS_THE_NAME": "environment", "TRELLIS_WAIT": "7s", "TRELLIS_ENDPOINTS": "a,b"}
	v, set, err := parse(env, "--the-name=flag", "--endpoints=c")
	require.NoError(t, err)
	require.Equal(t, "flag", v.name)
	require.Equal(t, 7*time.Second, v.wait)
	require.Equal(t, []string{"c"}, v.endpoints, "a list is replaced, not appended to")
	require.True(t, set.Given("wait"))
	require.False(t, set.Given("dwell"))
}

func TestParse_EmptyVariableIsUnset(t *testing.T) {
	v, set, err := parse(map[string]string{"TRELLIS_THE_NAME": "", "TRELLIS_WAIT": ""})
	require.NoError(t, err)
	require.Equal(t, "default", v.name)
	require.Equal(t, time.Second, v.wait)
	require.False(t, set.Given("the-name"))
}

func TestParse_Booleans(t *testing.T) {
	for text, want := range map[string]bool{"1": true, "t": true, "true": true, "TRUE": true, "0": false, "false": false, "": false} {
		v, _, err := parse(map[string]string{"TRELLIS_RECREATE": text})
		require.NoError(t, err, text)
		require.Equal(t, want, v.recreate, text)
	}
	_, _, err := parse(map[string]string{"TRELLIS_RECREATE": "yes"})
	require.ErrorContains(t, err, "environment variable TRELLIS_RECREATE")
}

func TestParse_ReportsAllInvalidValues(t *testing.T) {
	env := map[string]string{"TRELLIS_DWELL": "5s", "TRELLIS_WAIT": "soon", "TRELLIS_RESUBMIT": "maybe"}
	_, _, err := parse(env)
	require.ErrorIs(t, err, flags.ErrInvalidValues)
	require.ErrorContains(t, err, "TRELLIS_WAIT", "a valid duration does not hide an invalid one")
	require.ErrorContains(t, err, "TRELLIS_RESUBMIT")

	_, _, err = parse(env, "--dwell=later", "--recreate=perhaps")
	require.ErrorIs(t, err, flags.ErrInvalidValues)
	require.ErrorContains(t, err, "--dwell")
	require.ErrorContains(t, err, "--recreate")
	require.ErrorContains(t, err, "TRELLIS_WAIT")
	require.NotContains(t, err.Error(), "TRELLIS_RESUBMIT", "the command line overrides the variable")

	_, _, err = parse(env, "--colour")
	require.ErrorContains(t, err, "unknown flag: --colour")
	require.ErrorContains(t, err, "TRELLIS_WAIT")
	require.NotErrorIs(t, err, flags.ErrInvalidValues)
}

func TestParse_OldNames(t *testing.T) {
	v, _, err := parse(nil, "--resubmit")
	require.NoError(t, err)
	require.True(t, v.recreate)
	v, _, err = parse(map[string]string{"TRELLIS_RESUBMIT": "1"})
	require.NoError(t, err)
	require.True(t, v.recreate, "TRELLIS_RESUBMIT=1 once meant false")
	v, _, err = parse(map[string]string{"TRELLIS_RESUBMIT": "1", "TRELLIS_RECREATE": "0"})
	require.NoError(t, err)
	require.False(t, v.recreate, "the present name counts first")
}

func TestParse_FurtherVariables(t *testing.T) {
	v, _, err := parse(map[string]string{"NODE_NAME": "a"})
	require.NoError(t, err)
	require.Equal(t, "a", v.node)
	v, _, err = parse(map[string]string{"NODE_NAME": "a", "TRELLIS_NODE_NAME": "b"})
	require.NoError(t, err)
	require.Equal(t, "b", v.node)
}

func TestParse_CommandLineOnly(t *testing.T) {
	v, _, err := parse(map[string]string{"TRELLIS_VERSION": "true"})
	require.NoError(t, err)
	require.False(t, v.version)
}

func TestParse_OnlyFlags(t *testing.T) {
	_, _, err := parse(nil, "serve")
	require.ErrorContains(t, err, `unexpected argument "serve"`)
	_, _, err = parse(map[string]string{"TRELLIS_WAIT": "soon"}, "--help")
	require.ErrorIs(t, err, pflag.ErrHelp)
}

func TestHelp_NamesVariables(t *testing.T) {
	_, set, err := parse(nil)
	require.NoError(t, err)
	help := set.Help()
	require.Contains(t, help, "a name [TRELLIS_THE_NAME]")
	require.Contains(t, help, "the node [TRELLIS_NODE_NAME, NODE_NAME]")
	require.Contains(t, help, "recreate pods [TRELLIS_RECREATE]")
	require.NotContains(t, help, "resubmit")
	require.Contains(t, help, "print the version and exit\n")
}
