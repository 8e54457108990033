// Package credentials loads a server's certificate and the CA of its clients' certificates, and reloads them when the
// files change. A client of the extender can have pods bound and evicted, so both are required unless the server listens
// on a loopback address.
//
// The files are checked when a client connects, at most once a second: a renewed certificate needs no restart. If new
// files are invalid, the server continues with the last valid ones, and the log names the error.
package credentials
