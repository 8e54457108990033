//go:build !race

package model

const defaultTotal = 100_000
