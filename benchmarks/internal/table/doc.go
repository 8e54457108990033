// Package table shows a run on a terminal. Render is pure: it draws one frame of the present state. Three screens show
// frames and events: Live redraws in place, Plain prints a line per event and a table at intervals, Stream prints JSON
// lines for programs.
//
// A frame has a given width. In a narrow frame the least important columns are dropped whole; numbers are never cut.
package table
