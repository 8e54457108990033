// Package newcomers writes the shares that jobs would get that arrive now, for the device plugin of the node: it may limit the threads of
// a client of MPS by them (see growth/mpsthreads).
package newcomers
