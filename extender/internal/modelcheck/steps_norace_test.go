//go:build !race

package modelcheck

const defaultTotal = 150_000
