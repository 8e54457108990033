// Package nullextender is a scheduler extender that does nothing: what any extender costs at least, when it is written in
// the plain way. It decodes and encodes with encoding/json, lets every node through, gives all of them the same score, and
// binds with one Binding. It keeps no books, so nothing about it is safe; it is there to be compared with.
package nullextender
