package bus

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// Version is the version of the records that this package writes.
const Version = 1

// MaxValue is the largest size of an encoded record, in bytes. The limit of etcd is 1.5 MiB.
const MaxValue = 1 << 20

// ErrVersion is returned for a record of an unknown version. The caller must not modify it: a newer version of the
// writer owns it.
var ErrVersion = errors.New("unknown record version")

// Header is embedded in every record.
type Header struct {
	Version int `json:"v"`
	// Unknown has the unknown fields of a record, so that a rewrite does not drop them.
	Unknown map[string]json.RawMessage `json:"-"`
}

func (h *Header) header() *Header { return h }

// Record is the constraint of pointers to the structs in records.go.
type Record[T any] interface {
	*T
	header() *Header
}

// Encode encodes a record with its version and its unknown fields.
func Encode[T any, R Record[T]](record T) ([]byte, error) {
	header := R(&record).header()
	header.Version = Version
	value, err := json.Marshal(record)
	if err != nil {
		return nil, fmt.Errorf("encoding %T: %w", record, err)
	}
	if len(header.Unknown) > 0 {
		fields := make(map[string]json.RawMessage, len(header.Unknown))
		for name, raw := range header.Unknown {
			fields[name] = raw
		}
		if err := json.Unmarshal(value, &fields); err != nil {
			return nil, fmt.Errorf("encoding %T: %w", record, err)
		}
		if value, err = json.Marshal(fields); err != nil {
			return nil, fmt.Errorf("encoding %T: %w", record, err)
		}
	}
	if len(value) > MaxValue {
		return nil, fmt.Errorf("encoding %T: %d bytes, a record has at most %d", record, len(value), MaxValue)
	}
	return value, nil
}

// Decode decodes a record. It returns ErrVersion for an unknown version.
func Decode[T any, R Record[T]](value []byte) (T, error) {
	var record, none T
	if len(value) > MaxValue {
		return none, fmt.Errorf("decoding %T: %d bytes, a record has at most %d", record, len(value), MaxValue)
	}
	if record, ok := decodeKnown[T, R](value); ok {
		return record, nil
	}
	if err := checkVersion(value); err != nil {
		return none, fmt.Errorf("decoding %T: %w", record, err)
	}
	if err := json.Unmarshal(value, &record); err != nil {
		return none, fmt.Errorf("decoding %T: %w", record, err)
	}
	unknown := map[string]json.RawMessage{}
	if err := json.Unmarshal(value, &unknown); err != nil {
		return none, fmt.Errorf("decoding %T: %w", record, err)
	}
	removeKnown(unknown, reflect.TypeFor[T]())
	if len(unknown) > 0 {
		R(&record).header().Unknown = unknown
	}
	return record, nil
}

// Unmarshal is json.Unmarshal, or another function that does the same.
type Unmarshal func(value []byte, record any) error

// Read decodes a record that the caller does not write back: it drops unknown fields. It makes a third of the garbage of Decode, and does
// not take three times as long for the records of a newer release.
func Read[T any, R Record[T]](value []byte, unmarshal Unmarshal) (T, error) {
	var record, none T
	if len(value) > MaxValue {
		return none, fmt.Errorf("reading %T: %d bytes, a record has at most %d", record, len(value), MaxValue)
	}
	err := unmarshal(value, &record)
	if err == nil && R(&record).header().Version == Version {
		return record, nil
	}
	if other := checkVersion(value); other != nil {
		err = other // a record of another version may have other types
	}
	return none, fmt.Errorf("reading %T: %w", record, err)
}

// checkVersion returns an error unless a record is of the current version.
func checkVersion(value []byte) error {
	var version struct {
		Version int `json:"v"`
	}
	if err := json.Unmarshal(value, &version); err != nil {
		return err
	}
	if version.Version != Version {
		return fmt.Errorf("%w %d, this build knows %d", ErrVersion, version.Version, Version)
	}
	return nil
}

// decodeKnown decodes a record of the current version without unknown fields. Almost all records are of this kind, and
// it takes one pass instead of three.
func decodeKnown[T any, R Record[T]](value []byte) (record T, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.DisallowUnknownFields()
	if decoder.Decode(&record) != nil || R(&record).header().Version != Version {
		return record, false
	}
	_, err := decoder.Token()
	return record, errors.Is(err, io.EOF)
}

// removeKnown removes the fields that a record type has. Like encoding/json, it ignores the case of names.
func removeKnown(fields map[string]json.RawMessage, record reflect.Type) {
	for i := range record.NumField() {
		field := record.Field(i)
		if field.Anonymous {
			removeKnown(fields, field.Type)
			continue
		}
		known, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		for name := range fields {
			if strings.EqualFold(name, known) {
				delete(fields, name)
			}
		}
	}
}
