// Package nullextender is a scheduler extender that does nothing: the lower bound of an extender's cost, written in the plain
// way. It decodes and encodes with encoding/json, passes every node, scores all of them alike, and binds with one Binding.
// It keeps no state, so it over-commits GPUs; it exists for comparisons.
package nullextender
