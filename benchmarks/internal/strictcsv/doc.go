// Package strictcsv reads CSV files with a header into typed rows.
//
// A Table describes the columns of a file. The header must name them in their order; only optional ones may be missing. Every
// field has a parser. Files, rows and fields are bounded. An error names the line, the column and the character.
package strictcsv
