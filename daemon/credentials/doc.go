// Package credentials keeps the certificate that the extender shows and the authority that its clients' certificates must be
// signed by. Whoever may ask may have pods bound and evicted, so both are needed wherever not only the same machine can ask.
//
// The files are looked at again when a client connects, at most once a second: a certificate that was renewed serves without
// a restart. Files that cannot be used leave the last good ones in force and are named in the log.
package credentials
