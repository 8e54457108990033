package strictcsv

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxField bounds the length of a field, and so of an error that quotes it.
const maxField = 4096

// Column is one field of a row.
type Column[T any] struct {
	// Name is the field's name in the header.
	Name string
	// Read validates the field and stores it in the row. Columns are read from left to right.
	Read func(value string, row *T) error
	// Optional means that a file may lack the column.
	Optional bool
}

// Table describes a file.
type Table[T any] struct {
	// What names a file in errors: "the workload".
	What    string
	Columns []Column[T]
	// MaxBytes and MaxRows bound a file.
	MaxBytes int64
	MaxRows  int
	// BareQuotes permits quotes within fields that do not begin with one.
	BareQuotes bool
	// Default is a row whose optional columns are missing.
	Default T
}

// Read reads all rows. A file without rows is an error.
func (t Table[T]) Read(r io.Reader) ([]T, error) {
	limited := &io.LimitedReader{R: r, N: t.MaxBytes + 1}
	reader := csv.NewReader(withoutMark(limited))
	reader.LazyQuotes = t.BareQuotes
	reader.FieldsPerRecord = -1 // checked below, with a better message
	reader.ReuseRecord = true
	columns, err := t.header(reader)
	if limited.N <= 0 {
		return nil, t.tooLarge()
	} else if err != nil {
		return nil, err
	}
	var rows []T
	for {
		record, err := reader.Read()
		switch {
		case limited.N <= 0:
			return nil, t.tooLarge()
		case errors.Is(err, io.EOF) && len(rows) == 0:
			return nil, fmt.Errorf("%s has a header and no rows", t.What)
		case errors.Is(err, io.EOF):
			return rows, nil
		case err != nil:
			return nil, err // the error of encoding/csv names line and column
		case len(rows) == t.MaxRows:
			return nil, fmt.Errorf("%s has more than %d rows", t.What, t.MaxRows)
		}
		row, err := t.row(reader, columns, record)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
}

// withoutMark skips the byte order mark with which spreadsheets begin a file.
func withoutMark(r io.Reader) io.Reader {
	const mark = "\ufeff"
	buffered := bufio.NewReader(r)
	if start, _ := buffered.Peek(len(mark)); string(start) == mark {
		_, _ = buffered.Discard(len(mark))
	}
	return buffered
}

func (t Table[T]) tooLarge() error {
	return fmt.Errorf("%s is larger than %d bytes", t.What, t.MaxBytes)
}

// header returns the columns of the file.
func (t Table[T]) header(reader *csv.Reader) ([]Column[T], error) {
	header, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s is empty: its first line must be %s", t.What, t.names())
	} else if err != nil {
		return nil, err
	}
	var columns []Column[T]
	for _, c := range t.Columns {
		if len(columns) < len(header) && header[len(columns)] == c.Name {
			columns = append(columns, c)
		} else if !c.Optional {
			return nil, t.unknownHeader(header)
		}
	}
	if len(columns) < len(header) {
		return nil, t.unknownHeader(header)
	}
	return columns, nil
}

func (t Table[T]) unknownHeader(header []string) error {
	return fmt.Errorf("line 1: the columns are %.200q, they must be %s", strings.Join(header, ","), t.names())
}

// names returns the header, with optional columns in brackets.
func (t Table[T]) names() string {
	var names []string
	for _, c := range t.Columns {
		name := c.Name
		if c.Optional {
			name = "[" + name + "]"
		}
		names = append(names, name)
	}
	return strings.Join(names, ",")
}

func (t Table[T]) row(reader *csv.Reader, columns []Column[T], record []string) (T, error) {
	row := t.Default
	if len(record) != len(columns) {
		line, _ := reader.FieldPos(0)
		return row, fmt.Errorf("line %d: the number of fields is %d, the number of columns %d", line, len(record), len(columns))
	}
	tooLong := func(field string) bool { return len(field) > maxField }
	if i := slices.IndexFunc(record, tooLong); i >= 0 {
		return row, at(reader, i, columns[i].Name, fmt.Errorf("the field is longer than %d bytes", maxField))
	}
	for i, c := range columns {
		if err := c.Read(record[i], &row); err != nil {
			return row, at(reader, i, c.Name, err)
		}
	}
	return row, nil
}

func at(reader *csv.Reader, field int, name string, err error) error {
	line, character := reader.FieldPos(field)
	return fmt.Errorf("line %d, column %s (character %d): %w", line, name, character, err)
}
