package gpu_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
)

// slowSource answers after one delay per call; after the last one at once.
type slowSource struct{ delays []time.Duration }

func (s *slowSource) Devices(context.Context) ([]gpu.Device, error) {
	if len(s.delays) > 0 {
		time.Sleep(s.delays[0])
		s.delays = s.delays[1:]
	}
	return []gpu.Device{{UUID: "GPU-0"}}, nil
}

func TestTimeoutSource_WaitsLongerForTheFirstList(t *testing.T) {
	for name, tc := range map[string]struct {
		delays []time.Duration
		wants  []string // the error of each call
		logged int
	}{
		"fast":                     {[]time.Duration{time.Second, time.Second}, []string{"", ""}, 0},
		"eight GPUs to initialise": {[]time.Duration{24 * time.Second}, []string{"", ""}, 1},
		"a driver that hangs":      {[]time.Duration{time.Hour}, []string{"the driver has not answered for 2m0s"}, 1},
		"a later list is slow":     {[]time.Duration{24 * time.Second, 24 * time.Second}, []string{"", "the driver has not answered for 5s"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				source := &gpu.TimeoutSource{
					Source: &slowSource{tc.delays}, Timeout: 5 * time.Second, First: 2 * time.Minute,
					Log: slog.New(slog.NewTextHandler(&log, nil)),
				}
				for _, want := range tc.wants {
					devices, err := source.Devices(t.Context())
					if want != "" {
						require.ErrorContains(t, err, want)
						continue
					}
					require.NoError(t, err)
					require.Len(t, devices, 1)
				}
				synctest.Wait()
				require.Equal(t, tc.logged, strings.Count(log.String(), "persistence mode"), "%s", log.String())
				time.Sleep(time.Hour) // until the call in the background ends
			})
		})
	}
}

func TestTimeoutSource_EndsTheFirstListWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		source := &gpu.TimeoutSource{Source: &slowSource{[]time.Duration{time.Hour}}, Timeout: 5 * time.Second, First: 2 * time.Minute}
		begin := time.Now()
		_, err := source.Devices(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(begin))
		time.Sleep(time.Hour)
	})
}
