package gpuhealth_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpuhealth"
	"github.com/trellis-gpu/trellis/growth"
)

var (
	healthyGPU    = gpu.Device{UUID: "A", Memory: 1024, Healthy: true}
	unreadableGPU = gpu.Device{UUID: "A", Memory: 1024, Reason: "its memory cannot be read"}
	absentGPU     = gpu.Device{
		UUID:   "A",
		Memory: 1024,
		Reason: "the driver no longer lists it",
		Absent: true,
	}
	errSilent = errors.New("the driver has not answered for 5s")
)

// scenario drives a monitor of one GPU.
type scenario struct {
	monitor *gpuhealth.Monitor
	now     time.Time
	last    gpu.Device
}

func newScenario() *scenario {
	s := &scenario{now: time.Unix(0, 0), last: healthyGPU, monitor: gpuhealth.New(gpuhealth.Config{
		Policy: gpuhealth.Default, RecoverAfter: time.Minute, LossAfter: 2 * time.Minute,
	})}
	s.list(healthyGPU)
	return s
}

func (s *scenario) list(d gpu.Device) {
	s.last = d
	s.monitor.Observe(s.now, []gpu.Device{d}, nil)
}

func (s *scenario) healthy() bool {
	return s.monitor.Apply(s.now, []gpu.Device{s.last})[0].Healthy
}

// play runs a script. f, b and a list a healthy, unreadable or absent GPU; e is a listing that fails; xN is an XID error; a
// number lets that many seconds pass; + and - require that the GPU is healthy or unhealthy.
func (s *scenario) play(t *testing.T, script string) {
	t.Helper()
	for i, word := range strings.Fields(script) {
		switch {
		case word == "f":
			s.list(healthyGPU)
		case word == "b":
			s.list(unreadableGPU)
		case word == "a":
			s.list(absentGPU)
		case word == "e":
			s.monitor.Observe(s.now, []gpu.Device{s.last}, errSilent)
		case word == "+" || word == "-":
			require.Equal(t, word == "+", s.healthy(), "after %v", strings.Fields(script)[:i])
		case word[0] == 'x':
			s.monitor.RecordFault(s.now, gpu.Fault{GPU: "A", XID: parseNumber(t, word[1:])})
		default:
			s.now = s.now.Add(time.Duration(parseNumber(t, word)) * time.Second)
		}
	}
}

func parseNumber(t *testing.T, text string) uint64 {
	n := uint64(0)
	for _, r := range text {
		require.True(t, r >= '0' && r <= '9', text)
		n = 10*n + uint64(r-'0')
	}
	return n
}

func TestMonitor(t *testing.T) {
	for name, script := range map[string]string{
		"one failed listing changes nothing":                      "+ b + 1 f +",
		"two failed listings in a row make it unhealthy":          "b + 1 b -",
		"failed listings that are not consecutive change nothing": "b f b f b +",
		"recovery takes a minute of successful listings":          "b b - 10 f - 59 f - 1 f +",
		"a failed listing restarts the minute":                    "b b 10 f 50 f b - 20 f - 60 f +",
		"an error of the job does not count against the GPU":      "x13 + x31 + x43 + x94 +",
		"an error with recovery":                                  "x74 - 59 - 1 +",
		"the second error doubles the quiet period":               "x74 60 + x74 - 60 - 60 +",
		"the third error doubles it again":                        "x74 x74 x74 - 239 - 1 +",
		"the quiet period is at most an hour": "x74 x74 x74 x74 x74 x74 x74 x74 x74 " +
			"x74 x74 3599 - 1 +",
		"a long time without errors resets the doubling":           "x74 x74 x74 7300 + x74 60 +",
		"an error that needs a reset stays":                        "x79 - 100000 f -",
		"a reset clears the error":                                 "x79 - a a - 10 f - 60 f +",
		"one absent list is not a reset":                           "x79 a f 60 f -",
		"a lesser error does not replace a reset":                  "x79 x74 - 100000 f -",
		"an unknown error counts against the GPU for a while":      "x999 - 60 +",
		"a failing driver has two minutes":                         "e + 60 e + 60 e -",
		"GPUs recover after a minute of successful listings":       "e 120 e - f - 59 f - 1 f +",
		"an intermittent driver is not failing":                    "e 100 e f 100 e + 100 e +",
		"a GPU that is absent and unreadable in turn is unhealthy": "a b - a b -",
	} {
		t.Run(name, func(t *testing.T) { newScenario().play(t, script) })
	}
}

func TestMonitor_BelievesFirstList(t *testing.T) {
	m := gpuhealth.New(gpuhealth.Config{Policy: gpuhealth.Default, RecoverAfter: time.Minute, LossAfter: time.Minute})
	require.False(t, m.Observe(time.Unix(0, 0), []gpu.Device{unreadableGPU}, nil))
	devices := m.Apply(time.Unix(0, 0), []gpu.Device{unreadableGPU})
	require.False(t, devices[0].Healthy)
	require.Equal(t, unreadableGPU.Reason, devices[0].Reason)
}

func TestMonitor_FaultAffectsItsDevices(t *testing.T) {
	whole := gpu.Device{UUID: "B", Healthy: true}
	one := gpu.Device{UUID: "MIG-1", Healthy: true, Instance: &gpu.Instance{Parent: "A", GPU: 7}}
	two := gpu.Device{UUID: "MIG-2", Healthy: true, Instance: &gpu.Instance{Parent: "A", GPU: 8}}
	for name, tc := range map[string]struct {
		fault gpu.Fault
		want  []growth.GPU
	}{
		"a whole GPU":            {gpu.Fault{GPU: "B", XID: 79}, []growth.GPU{"B"}},
		"all instances of a GPU": {gpu.Fault{GPU: "A", XID: 79}, []growth.GPU{"MIG-1", "MIG-2"}},
		"one instance": {gpu.Fault{
			GPU: "A",
			XID: 79,
			Instance: &gpu.Instance{
				Parent: "A",
				GPU:    8,
			},
		}, []growth.GPU{"MIG-2"}},
		"an unknown GPU":   {gpu.Fault{GPU: "C", XID: 79}, nil},
		"an ignored error": {gpu.Fault{GPU: "B", XID: 13}, []growth.GPU{"B"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := gpuhealth.New(gpuhealth.Config{
				Policy:       gpuhealth.Default,
				RecoverAfter: time.Minute,
				LossAfter:    time.Minute,
			})
			m.Observe(time.Unix(0, 0), []gpu.Device{whole, one, two}, nil)
			_, hit := m.RecordFault(time.Unix(1, 0), tc.fault)
			require.Equal(t, tc.want, hit)
		})
	}
}

func TestParsePolicy(t *testing.T) {
	p, err := gpuhealth.ParsePolicy(" 109=ignore, 74=unhealthy-until-reset ,other=ignore")
	require.NoError(t, err)
	require.Equal(t, gpuhealth.Ignore, p.Of(109))
	require.Equal(t, gpuhealth.UntilReset, p.Of(74))
	require.Equal(t, gpuhealth.UntilReset, p.Of(79), "errors that are not named keep their action")
	require.Equal(t, gpuhealth.Ignore, p.Of(4711))
	require.Equal(t, gpuhealth.Unhealthy, gpuhealth.Default.Of(109), "the default policy is unchanged")

	for text, words := range map[string]string{
		"79":         "action is none of",
		"79=explode": "action is none of",
		"x=ignore":   "neither the number",
		"0=ignore":   "neither the number",
		"-1=ignore":  "neither the number",
	} {
		_, err := gpuhealth.ParsePolicy(text)
		require.ErrorContains(t, err, words, text)
	}
}

func FuzzParsePolicy(f *testing.F) {
	f.Add("79=ignore,other=unhealthy")
	f.Add("=,=")
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := gpuhealth.ParsePolicy(text); err == nil {
			require.NotEmpty(t, p.Of(79))
		}
	})
}
