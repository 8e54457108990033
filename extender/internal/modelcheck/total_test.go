//go:build !race

package model

const defaultTotal = 150_000
