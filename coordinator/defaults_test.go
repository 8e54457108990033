package main

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/policy"
)

func TestOptions_DefaultsAreTheShippedOnes(t *testing.T) {
	text, err := os.ReadFile("../deploy/base/coordinator/kustomization.yaml")
	require.NoError(t, err)
	literals := regexp.MustCompile(`(?m)^\s*- (TRELLIS_\w+)=(\S+)$`).FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, literals)

	args := []string{"--node-name=n", "--etcd-endpoints=http://localhost:2379"}
	defaults, err := parse(args)
	require.NoError(t, err)
	require.Equal(t, string(policy.Default), defaults.policy)
	require.Equal(t, policy.DefaultInterval, defaults.interval)
	require.InDelta(t, policy.DefaultAlpha, defaults.alpha, 0)

	for _, literal := range literals {
		t.Setenv(literal[1], literal[2])
	}
	shipped, err := parse(args)
	require.NoError(t, err)
	require.Equal(t, defaults, shipped, "a setting in deploy/base differs from its flag's default")
}
