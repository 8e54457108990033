// Package plot draws a run as an SVG file: one small panel a job, all with the same axes, so that they can be compared at a
// glance. Both lines of a panel are parts of a whole, 0 to 100 %:
//
//	CPU share   the part of its node's CPU that the job was given, a step line; under a second policy, dashed
//	growth      what a core second gains the job now, over the most it ever gained (growth.Growth)
//
// The background tells the job's category at that time. Before its submission and after its end a panel is blank, and a
// line marks the end. It is pure: a timeline in, text out, with no dependency.
package plot
