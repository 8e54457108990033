// Package podlog follows the log of a container in the files that kubelet keeps:
//
//	<root>/<namespace>_<name>_<uid>/<container>/<restart>.log
//
// Each line has the CRI format "<time> <stream> <tags> <text>". Tag P means that the text continues in the next line of
// the stream, tag F that it is complete. Docker's json-file format is read as well. Another format is an error that names
// what the format looks like.
//
// The text of a line is passed on as it arrives, so that a progress bar without newlines is observed while it moves. A
// rotated file is read to its end before its successor. A file with a higher restart number replaces the previous one. Of
// a file that is long when first opened, only the end is read.
//
// The log is not trusted: the length of a line and the bytes read per poll are bounded.
package podlog
