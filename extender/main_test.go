package main

import (
	"testing"

	"github.com/trellis-gpu/trellis/daemon/programtest"
	"github.com/trellis-gpu/trellis/extender/internal/config"
)

func TestHelp(t *testing.T) { programtest.Help(t, program(&config.Config{}), "testdata/help.txt") }
