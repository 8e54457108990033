// Habits checks what a compiler does not: the words of comments, strings and documents, the size of functions, names of
// packages and tests, and the subjects of commits. `make verify` runs it; `go run . -help` lists its flags.
//
// Each finding is a line "file:line: found, and what to write instead". The checks read these files of this folder:
//
//	words.txt    the words that have a replacement, with it
//	allowed.txt  true uses of such words, each with a reason
//	pending.txt  folders that are not checked yet; the list only shrinks
package main
