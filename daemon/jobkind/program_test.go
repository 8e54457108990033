package jobkind_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/daemon/jobkind"
)

func pod(containers ...corev1.Container) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "u"},
		Spec:       corev1.PodSpec{Containers: containers},
	}
}

func program(p *corev1.Pod) string {
	id, _, _ := jobkind.Program(p)
	return id
}

func numbers(p *corev1.Pod) []string {
	_, _, numbers := jobkind.Program(p)
	return numbers
}

func TestProgram_OmitsWhatDiffersBetweenRuns(t *testing.T) {
	of := func(change func(*corev1.Pod)) string {
		p := pod(corev1.Container{Name: "train"})
		p.Spec.Containers[0].Image = "train:1"
		p.Spec.Containers[0].Command = []string{"python3", "train.py", "--model=gru", "--lr", "1e-3", "--seed=7"}
		p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "RUN", Value: "run-a"}}
		change(p)
		return program(p)
	}
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		same   bool
	}{
		"another name":  {func(p *corev1.Pod) { p.Name, p.UID = "other", "v" }, true},
		"another rate":  {func(p *corev1.Pod) { p.Spec.Containers[0].Command[4] = "0.05" }, true},
		"another seed":  {func(p *corev1.Pod) { p.Spec.Containers[0].Command[5] = "--seed=1234" }, true},
		"another model": {func(p *corev1.Pod) { p.Spec.Containers[0].Command[2] = "--model=vae" }, false},
		"another image": {func(p *corev1.Pod) { p.Spec.Containers[0].Image = "train:2" }, false},
		"arguments":     {func(p *corev1.Pod) { p.Spec.Containers[0].Args = []string{"--fast"} }, false},
		"words moved to the arguments": {func(p *corev1.Pod) {
			c := &p.Spec.Containers[0]
			c.Command, c.Args = c.Command[:2], c.Command[2:]
		}, false},
		"a second container": {func(p *corev1.Pod) { p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "log"}) }, false},
		"another namespace":  {func(p *corev1.Pod) { p.Namespace = "theirs" }, false},
		"one more variable": {func(p *corev1.Pod) {
			p.Spec.Containers[0].Env = append(p.Spec.Containers[0].Env, corev1.EnvVar{Name: "FAST"})
		}, false},
		"a number of threads": {func(p *corev1.Pod) {
			p.Spec.Containers[0].Env = append(p.Spec.Containers[0].Env, corev1.EnvVar{Name: "OMP_NUM_THREADS", Value: "2"})
		}, true},
		"another value": {func(p *corev1.Pod) { p.Spec.Containers[0].Env[0].Value = "run-b" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			plain := of(func(*corev1.Pod) {})
			require.NotEmpty(t, plain)
			require.Equal(t, tc.same, plain == of(tc.change))
		})
	}
}

func TestProgram_Numbers(t *testing.T) {
	p := pod(corev1.Container{Name: "train"}, corev1.Container{Name: "log"})
	p.Spec.Containers[0].Image = "train:1"
	p.Spec.Containers[0].Command = []string{"python3.12", "train.py", "--lr=1e-3", "--layers=2x64"}
	p.Spec.Containers[1].Args = []string{strings.Repeat("7", 100)}
	require.Equal(t, []string{"3.12", "1e-3", "2", "64", strings.Repeat("7", 32)}, numbers(p), "no numbers of images; long numbers are cut")
	p.Spec.Containers[0].Args = slices.Repeat([]string{"9"}, 1000)
	require.Len(t, numbers(p), 64)
}

func TestProgram_NumbersOfTheEnvironment(t *testing.T) {
	of := func(env ...corev1.EnvVar) []string {
		p := pod(corev1.Container{Name: "train"}, corev1.Container{Name: "log"})
		p.Spec.Containers[0].Env, p.Spec.Containers[1].Args = env, []string{"7"}
		return numbers(p)
	}
	from := func(key string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: key}}
	}
	require.Equal(t, []string{"7", "5000", "1e-3", ""}, of(
		corev1.EnvVar{Name: "STEPS", Value: "5000"}, corev1.EnvVar{Name: "LR", Value: "1e-3"}, corev1.EnvVar{Name: "EMPTY"}))
	token := corev1.EnvVar{Name: "TOKEN", Value: "hunter2"}
	require.NotContains(t, of(token), token.Value, "it may be a secret")
	require.Equal(t, of(token), of(token))
	require.NotEqual(t, of(token), of(corev1.EnvVar{Name: "TOKEN", Value: "hunter3"}))
	require.NotEqual(t, of(corev1.EnvVar{Name: "TOKEN", ValueFrom: from("a")}), of(corev1.EnvVar{Name: "TOKEN", ValueFrom: from("b")}))

	require.Equal(t, of(), of(corev1.EnvVar{Name: "OMP_NUM_THREADS", Value: "2"}), "the CPU request differs between runs")

	p := pod(corev1.Container{Name: "train"})
	without := numbers(p)
	p.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}}
	require.Len(t, numbers(p), len(without)+1)
}
