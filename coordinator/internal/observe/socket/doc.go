// Package socket receives messages from jobs on one Unix socket per slot. The socket that a message arrives on
// identifies the container; a job cannot pose as another one.
//
// Jobs are not trusted, and each limit applies to one slot. A line has at most 64 KiB. Lines above the rate are dropped
// and counted. Above the byte rate the socket is not read. A connection with too many malformed lines is closed. A job
// that does not read its messages loses its connection after the write timeout. Each slot has its own goroutines, so
// the other jobs are not affected.
//
// Each process of a job has its own connection, and all of them may connect at once. The rates grow with the number of
// connections. If a rank connects again, its old connection is closed.
//
// Sockets are read once a second, all at the same moment, and no message causes a wake-up in between: progress reports
// are frequent and not urgent. Drain reads the socket of one slot at once: a job may have sent its last message just before its end. A
// config is sent at once.
package socket
