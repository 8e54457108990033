package main

import (
	"testing"

	"github.com/trellis-gpu/trellis/coordinator/internal/config"
	"github.com/trellis-gpu/trellis/daemon/programtest"
)

func TestHelp(t *testing.T) { programtest.Help(t, program(&config.Config{}), "testdata/help.txt") }
