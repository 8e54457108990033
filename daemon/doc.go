// Package daemon runs a binary: it parses the flags, creates the logger, handles signals, and runs and stops the parts.
// The four binaries share this module. It imports growth and none of them.
//
// The life of a process:
//
//	parse    flags and environment variables by the same rules; all errors at once         flags
//	act      --version, --help and actions such as --explain end here                      Program
//	log      JSON lines on stderr; the key of an error is "err"                            NewLogger
//	build    the binary's own parts, which do not wait for the bus or the API server       etcdbus, records
//	serve    probes and metrics on one port; TLS with renewed certificates                 probes, httpserver, credentials
//	run      all parts together, until a signal or until the first of them returns         Group
//	stop     readiness fails, then the parts stop in order, servers after their requests   Group
//	exit     0 after help, version, an action or a signal; 2 for usage; 1 for a failure    Program
//
// A second signal ends the process at once.
//
// The names of packages for tests end in "test": controlplanetest runs a stock control plane, etcdtest runs etcd,
// processtest runs programs, kubelettest is a fake kubelet, credentialstest signs certificates, and programtest tests
// the command line of a binary.
package daemon
