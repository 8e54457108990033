package cluster_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
)

func TestConnection_SettingsOfTheWorkloads(t *testing.T) {
	named := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: cluster.Namespace, Name: name}
	}
	from := []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "coordinator-abc"}}}}
	coordinator := corev1.PodSpec{HostPID: true, Containers: []corev1.Container{{
		Args: []string{"--state-dir=/var/lib/trellis", "--enforce=cgroup"}, EnvFrom: from,
	}}}
	replicas := int32(2)
	extender := corev1.PodSpec{Containers: []corev1.Container{
		{Env: []corev1.EnvVar{{Name: "GOGC", Value: "50"}}}, {Args: []string{"--enforce=never"}},
	}}
	etcd := corev1.PodSpec{Containers: []corev1.Container{{Args: []string{"--unsafe-no-fsync"}}}}
	c := &cluster.Connection{Kubernetes: fake.NewClientset(
		&corev1.ConfigMap{ObjectMeta: named("coordinator-abc"), Data: map[string]string{"TRELLIS_INTERVAL": "5s", "TRELLIS_LOG_LEVEL": "info"}},
		&appsv1.DaemonSet{ObjectMeta: named("coordinator"), Spec: appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{Spec: coordinator}}},
		&appsv1.Deployment{ObjectMeta: named("extender"), Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Template: corev1.PodTemplateSpec{Spec: extender},
		}},
		&appsv1.StatefulSet{ObjectMeta: named("etcd"), Spec: appsv1.StatefulSetSpec{Template: corev1.PodTemplateSpec{Spec: etcd}}},
	)}
	got, err := c.Settings(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]string{
		"coordinator --enforce": "cgroup", "coordinator --interval": "5s", "coordinator hostPID": "true",
		"etcd --unsafe-no-fsync": "true", "extender GOGC": "50", "extender replicas": "2",
	}, got)
}

func TestConnection_SettingsWithoutTheirConfigMap(t *testing.T) {
	from := []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "gone"}}}}
	pod := corev1.PodSpec{Containers: []corev1.Container{{EnvFrom: from}}}
	c := &cluster.Connection{Kubernetes: fake.NewClientset(&appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: "tuner"},
		Spec:       appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{Spec: pod}},
	})}
	_, err := c.Settings(t.Context())
	require.ErrorContains(t, err, "reading the settings of tuner")
}
