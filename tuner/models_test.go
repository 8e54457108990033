package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/bus"

	"github.com/trellis-gpu/trellis/tuner/internal/contention"
	"github.com/trellis-gpu/trellis/tuner/internal/learn"
	"github.com/trellis-gpu/trellis/tuner/internal/loaders"
	"github.com/trellis-gpu/trellis/tuner/internal/resources"
)

// reload returns a function that returns the record that a learner would write after it has loaded one from the bus.
func reload[T any, R bus.Record[T]](c *learn.Controller[T, R]) func(value []byte) ([]byte, error) {
	return func(value []byte) ([]byte, error) {
		record, err := bus.Decode[T, R](value)
		if err != nil {
			return nil, err
		}
		c.Learner.Load(&record)
		again, _ := c.Learner.Record()
		return bus.Encode[T, R](again)
	}
}

// testdata/models has records that the tuner of an earlier release has written. A tuner must continue with all of them: a change that
// breaks this test needs a reader of the old form. The files do not change; a new form has new files.
func TestModels_AreReadAsAnEarlierReleaseHasWrittenThem(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	for name, read := range map[string]func([]byte) ([]byte, error){
		bus.PeaksModel:        reload(resources.NewController(nil, nil, &resources.Learner{}, log)),
		bus.LoadersModel:      reload(loaders.NewController(nil, nil, &loaders.Memory{}, log)),
		bus.InterferenceModel: reload(contention.NewController(nil, nil, nopMetrics{}, log)),
		"programs": func(value []byte) ([]byte, error) {
			record, err := bus.Decode[bus.ProgramModel](value)
			require.NoError(t, err)
			require.Empty(t, record.Validate())
			return bus.Encode(record)
		},
	} {
		t.Run(name, func(t *testing.T) {
			content, err := os.ReadFile(filepath.Join("testdata", "models", name+".json"))
			require.NoError(t, err)
			again, err := read(content)
			require.NoError(t, err)
			require.JSONEq(t, string(content), string(again))
		})
	}
}

// nopMetrics counts nothing.
type nopMetrics struct{}

func (nopMetrics) CountMeasurements(string, int) {}
func (nopMetrics) CountModelWrite(string)        {}
