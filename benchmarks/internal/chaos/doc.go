// Package chaos kills Trellis' own binaries with SIGKILL while a benchmark runs, and follows whether they come back.
//
// Plan draws, from a seed, when each binary is struck. Chaos takes turns with the run: each turn it strikes what is due and
// healthy, and looks at what it struck before. A binary is back when kubelet has restarted each of its containers as often
// as it was killed, and all of them are ready again.
//
// Only the processes of one local cluster are touched: Victims finds them in that cluster's cgroups, and nowhere else.
package chaos
