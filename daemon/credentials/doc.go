// Package credentials keeps a server's certificate and the authority of its clients' certificates. A client of the extender
// can have pods bound and evicted, so both are required unless the server listens on its own machine only.
//
// The files are checked when a client connects, at most once a second: a renewed certificate needs no restart. If new files
// are invalid, the last valid ones stay in force, and the log names the error.
package credentials
