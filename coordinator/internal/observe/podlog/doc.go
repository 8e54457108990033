// Package podlog follows what a container prints, in the files that kubelet keeps for it:
//
//	<root>/<namespace>_<name>_<uid>/<container>/<restart>.log
//
// one line each in the CRI's format, "<time> <stream> <tags> <text>", where tag P says that the text goes on in the
// next line and F that it ends. A rotated file is read to its end before its successor, a restarted container's higher
// number replaces the lower, and a file that lies further behind than the backlog is entered near its end.
//
// The files are the job's words: a line is bounded, a look reads a bounded amount, and what lies beyond is skipped.
package podlog
