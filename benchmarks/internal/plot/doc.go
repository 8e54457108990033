// Package plot draws a run as an SVG file, with one small panel per job. All panels have the same axes. A panel has
// these lines, all from 0 to 100 %:
//
//	CPU share   the job's part of its node's CPU, a step line; dashed under a second policy
//	GPU share   the decided part of the time of the job's GPUs, where that time is divided
//	growth      the job's present gain per core second over its highest gain (growth.Growth)
//
// The background colour shows the job's category. A panel is blank before submission and after the end, and a line marks
// the end. The package is pure and has no dependencies.
package plot
