// Package credentials loads a server's certificate and the authorities of its clients' certificates, and reloads them when
// the files change. A client of the extender can bind and evict pods, so the extender requires both unless it listens on a
// loopback address.
//
// The files are checked when a client connects, at most once a second: a renewed certificate needs no restart. If new files
// are invalid, the server continues with the last valid ones and logs the error.
package credentials
