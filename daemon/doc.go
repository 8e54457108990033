// Package daemon is the common frame of the four binaries. The binaries import this module. It imports growth and none of
// them.
//
// The life of a process:
//
//	parse    flags and environment variables by one set of rules; all errors at once       flags
//	act      --version, --help and actions such as --explain end here                      Program
//	log      JSON lines on stderr; the key of an error is "err"                            NewLogger
//	build    the binary's own parts, which do not wait for the bus or the API server       etcdbus
//	serve    probes and metrics on a port of their own; TLS files are read again           probes, httpserver, credentials
//	run      all parts together, until a signal or until the first of them returns         Group
//	stop     readiness fails, then the parts stop in order, servers after their requests   Group
//	exit     0 after help, version, an action or a signal; 2 for usage; 1 for a failure    Program
//
// A second signal ends the process at once.
//
// Packages for tests have names that end in "test": controlplanetest runs a stock control plane, kubelettest is a fake
// kubelet, and processtest runs programs.
package daemon
