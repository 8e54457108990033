package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon/flags"
)

// testConfig is the configuration of a test program.
type testConfig struct {
	listen  string
	count   int
	explain string
}

func (c *testConfig) AddFlags(set *flags.Set) {
	set.StringVar(&c.listen, "listen", ":1", "address to listen on")
	set.IntVar(&c.count, "count", 3, "how many")
	set.StringVar(&c.explain, "explain", "", "explain a pod and exit")
}

func (c *testConfig) Validate() error {
	if c.listen == "" {
		return errors.New("--listen is empty")
	}
	return nil
}

func program(run func(context.Context, *slog.Logger) error) Program {
	c := &testConfig{}
	return Program{
		Name: "test", Version: "v1", About: "test does nothing.", Config: c, Run: run,
		Actions: map[string]Action{"explain": func(_ context.Context, out io.Writer, _ *slog.Logger) error {
			if c.explain == "nobody" {
				return errors.New("no such pod")
			}
			_, err := fmt.Fprintln(out, "pod", c.explain)
			return err
		}},
	}
}

func TestProgram_ExitCodes(t *testing.T) {
	fine := func(context.Context, *slog.Logger) error { return nil }
	for name, tc := range map[string]struct {
		args []string
		env  map[string]string
		run  func(context.Context, *slog.Logger) error
		code int
		out  string
		errs []string
	}{
		"stopped": {run: fine, code: ExitOK, errs: []string{`"msg":"stopped","program":"test"`}},
		"failed": {
			run:  func(context.Context, *slog.Logger) error { return errors.New("port in use") },
			code: ExitFailure,
			errs: []string{`"level":"ERROR"`, `"program":"test"`, `"err":"port in use"`},
		},
		"version": {args: []string{"--version"}, code: ExitOK, out: "test v1\n"},
		"version, invalid values": {
			args: []string{"--version", "--listen="},
			env:  map[string]string{"TRELLIS_COUNT": "x"},
			code: ExitOK,
			out:  "test v1\n",
		},
		"help":        {args: []string{"--help"}, code: ExitOK, out: "test does nothing."},
		"help, short": {args: []string{"-h"}, code: ExitOK, out: "address to listen on [TRELLIS_LISTEN]"},
		"unknown flag": {
			args: []string{"--colour"},
			code: ExitUsage,
			errs: []string{"test: unknown flag: --colour\n", "See test --help."},
		},
		"invalid values": {
			args: []string{"--listen=", "--log-level=loud"},
			env:  map[string]string{"TRELLIS_COUNT": "x"},
			code: ExitUsage,
			errs: []string{"test: --listen is empty\n", "TRELLIS_COUNT", "none of debug, info, warn, error"},
		},
		"action": {args: []string{"--explain=a"}, code: ExitOK, out: "pod a\n"},
		"failed action": {
			args: []string{"--explain=nobody"},
			code: ExitFailure,
			errs: []string{"test: no such pod\n"},
		},
		"no action by env": {env: map[string]string{"TRELLIS_EXPLAIN": "a"}, run: fine, code: ExitOK},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := program(tc.run).main(t.Context(), tc.args, func(name string) string { return tc.env[name] }, &out, &errs)
			require.Equal(t, tc.code, code, errs.String())
			require.Contains(t, out.String(), tc.out)
			for _, want := range tc.errs {
				require.Contains(t, errs.String(), want)
			}
		})
	}
}

func TestProgram_LogsJSON(t *testing.T) {
	var out, errs bytes.Buffer
	p := program(func(_ context.Context, log *slog.Logger) error {
		log.Debug("detail", "err", errors.New("lost"))
		return nil
	})
	require.Equal(t, ExitOK, p.main(t.Context(), []string{"--log-level=debug"}, func(string) string { return "" }, &out, &errs))
	require.Empty(t, out.String())
	first, _, _ := strings.Cut(errs.String(), "\n")
	var line map[string]any
	require.NoError(t, json.Unmarshal([]byte(first), &line))
	require.Equal(t, "detail", line["msg"])
	require.Equal(t, "lost", line["err"])
}
