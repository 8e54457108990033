package shim

import _ "embed"

// FileName is the name of the mounted file, and so of the module that a job imports.
const FileName = "gpushare.py"

//go:embed gpushare.py
var source string

// Source returns a copy of the file's content.
func Source() []byte { return []byte(source) }
