// Package wire is what a job and its coordinator say to one another: newline-delimited JSON on a Unix socket, a line
// at most MaxLine bytes, every line versioned ("v":1) and typed.
//
//	job → coordinator   progress   step, metrics, samples, step time and how much of it was waiting for data
//	                    ack        a config of this generation is in force
//	                    saved      a checkpoint is on disk, with its checksum
//	coordinator → job   config     loaders, batch size, duty cycle, by generation
//	                    save       write a checkpoint now
//
// Identity is the socket itself: each container is given one of its own, so nothing in a line says who speaks. What
// a job says is a claim: values are bounded here and believed nowhere without a second look.
//
// Lines of an unknown type are ignored, so that either side may be older; lines of an unknown version are an error.
// The user's half of the protocol is growth/shim.
package wire
