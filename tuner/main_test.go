package main

import (
	"testing"

	"github.com/trellis-gpu/trellis/daemon/programtest"
	"github.com/trellis-gpu/trellis/tuner/internal/config"
)

func TestHelp(t *testing.T) {
	noEnvironment := func(string) string { return "" }
	programtest.Help(t, program(config.New(noEnvironment)), "testdata/help.txt")
}
