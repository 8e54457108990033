// Package table shows a run to the person who watches it: Render makes one picture of its present state (pure), and three
// screens show pictures and events as they come: Live redraws in place on a terminal, Plain writes a line a change and a
// table now and then, Stream writes JSON lines for programs.
//
// A picture has the width it is given. Where that is too narrow for all columns, the least telling ones are left out whole;
// nothing is cut in the middle of a number.
package table
