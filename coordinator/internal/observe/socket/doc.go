// Package socket listens where jobs speak: one Unix socket for each slot, so that which socket a line comes from says
// which container it is, and nothing that a job writes can make it another.
//
// Jobs are not trusted. A line has at most 64 KiB; a slot is read at so many lines and bytes a second, the lines
// beyond are dropped and counted, and beyond the bytes it is simply not read; a connection that talks nonsense is
// closed; a job that does not read loses its connection after the write timeout. Each slot has its own goroutines and
// its own limits, so only the job itself feels any of it.
//
// What jobs write is looked at twice a second, for all of them in the same moment, and nothing wakes in between: jobs say
// much that nobody is in a hurry for. A config is written at once.
//
// The socket is made in a folder of the coordinator's own, opened to every user there, and moved into the slot: a job
// that may write to its slot could otherwise put a link in its place between the two and have us open a file of the
// host to everyone.
package socket
