package strictcsv_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/strictcsv"
)

type point struct {
	x float64
	n int
}

func points() strictcsv.Table[point] {
	return strictcsv.Table[point]{
		What: "the file",
		Columns: []strictcsv.Column[point]{
			{Name: "x", Read: func(v string, p *point) (err error) {
				p.x, err = strictcsv.Number(v, 0, 10)
				return err
			}},
			{Name: "note", Optional: true, Read: func(string, *point) error { return nil }},
			{Name: "n", Optional: true, Read: func(v string, p *point) (err error) {
				p.n, err = strictcsv.Whole(v, 1, 9)
				return err
			}},
		},
		MaxBytes: 10_000,
		MaxRows:  3,
		Default:  point{n: 7},
	}
}

func TestTable_ReadsRows(t *testing.T) {
	for name, tc := range map[string]struct {
		file string
		rows []point
	}{
		"all columns":              {"x,note,n\n1.5,hello,2\n", []point{{1.5, 2}}},
		"without optional columns": {"x\n1e0\n2\n", []point{{1, 7}, {2, 7}}},
		"without one of them":      {"x,n\n1,9\n", []point{{1, 9}}},
		"lines of Windows":         {"x,n\r\n1,9\r\n", []point{{1, 9}}},
		"a byte order mark":        {"\ufeffx,n\n1,9\n", []point{{1, 9}}},
		"a mark before quotes":     {"\ufeff\"x\",n\n1,9\n", []point{{1, 9}}},
	} {
		t.Run(name, func(t *testing.T) {
			rows, err := points().Read(strings.NewReader(tc.file))
			require.NoError(t, err)
			require.Equal(t, tc.rows, rows)
		})
	}
}

func TestTable_NamesLineAndColumn(t *testing.T) {
	for name, tc := range map[string]struct{ file, complaint string }{
		"an empty file":        {"", "the file is empty: its first line must be x,[note],[n]"},
		"a header alone":       {"x\n", "the file has a header and no rows"},
		"another header":       {"y\n1\n", `line 1: the columns are "y", they must be x,[note],[n]`},
		"another order":        {"n,x\n1,1\n", "line 1: the columns are"},
		"a further column":     {"x,z\n1,1\n", "line 1: the columns are"},
		"a missing field":      {"x,n\n1,2\n3\n", "line 3: the number of fields is 1, the number of columns 2"},
		"not a number":         {"x,n\n1,2\nNaN,1\n", `line 3, column x (character 1): "NaN" is not a number from 0 to 10`},
		"not whole":            {"x,n\n1,2.5\n", `line 2, column n (character 3): "2.5" is not a whole number from 1 to 9`},
		"an open quote":        {"x,n\n\"1,2\n", "line 2"},
		"too many rows":        {"x\n1\n1\n1\n1\n", "the file has more than 3 rows"},
		"a long field":         {"x,note\n1," + strings.Repeat("a", 5000) + "\n", "line 2, column note (character 3): the field is longer than 4096 bytes"},
		"a large file":         {"x\n" + strings.Repeat("1", 10_000), "the file is larger than 10000 bytes"},
		"a large first line":   {strings.Repeat("x", 20_000), "the file is larger than 10000 bytes"},
		"a quote within field": {"x,note\n1,a\"b\n", "bare \""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := points().Read(strings.NewReader(tc.file))
			require.ErrorContains(t, err, tc.complaint)
			require.Less(t, len(err.Error()), 400)
		})
	}
}

func TestTable_BareQuotes(t *testing.T) {
	table := points()
	table.BareQuotes = true
	rows, err := table.Read(strings.NewReader("x,note\n1,[\"0 1\" \"0 1\"]\n"))
	require.NoError(t, err)
	require.Equal(t, []point{{1, 7}}, rows)
}
