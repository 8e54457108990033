package plugin_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Objects as the API server returns them: with all that the script reads, and with as little as there may be.
const (
	fullPod = `{"metadata": {
		"namespace": "team", "name": "train-0-abc12", "uid": "uid-1", "deletionTimestamp": "2026-11-27T07:00:09Z",
		"labels": {"app": "x", "jobset.sigs.k8s.io/jobset-name": "set"},
		"annotations": {
			"gpushare/gpu": "GPU-1,GPU-2", "gpushare/category": "Progressing", "gpushare/cpu-request": "train=1,log=\t2",
			"gpushare/gpu-mem": "5Gi", "gpushare/gpu-share": "70%", "gpushare/paused": "true", "gpushare/gang": "bert/2",
			"gpushare/checkpoint": "none", "gpushare/move": "any", "gpushare/save": "move-1", "gpushare/moves": "at\tn1\nat\tn2"
		},
		"ownerReferences": [{"kind": "Other", "name": "else"}, {"kind": "Job", "name": "train", "controller": true}]
	}, "spec": {"nodeName": "n1", "containers": [
		{"name": "train", "args": ["--lr=1"], "resources": {"limits": {"gpushare/gpu-mem": "5", "memory": "1Gi"}, "requests": {"cpu": "100m"}}},
		{"name": "old", "resources": {"limits": {"aliyun.com/gpu-mem": "1"}, "requests": {"memory": "1Gi"}}},
		{"name": "log", "resources": {}}
	]}, "status": {"phase": "Running", "qosClass": "Burstable", "startTime": "2026-11-27T07:00:00Z"}}`
	barePod = `{"metadata": {"namespace": "team", "name": "plain", "uid": "uid-2"},
		"spec": {"containers": [{"name": "main"}]}, "status": {"phase": "Pending"}}`

	fullNode = `{"metadata": {"name": "n1", "annotations": {"gpushare/cordon": "GPU-1"},
			"labels": {"gpushare/gpu-count": "2", "gpushare/gpu-model": "A10", "gpushare/gpu-emulated": "true"}},
		"spec": {"unschedulable": true},
		"status": {"addresses": [{"type": "Hostname", "address": "n1"}, {"type": "InternalIP", "address": "10.0.0.1"}],
			"allocatable": {"cpu": "4", "gpushare/gpu-mem": "48"}}}`
	oldNode  = `{"metadata": {"name": "n2", "labels": {"other": "x"}}, "spec": {}, "status": {"allocatable": {"aliyun.com/gpu-mem": "24"}}}`
	bareNode = `{"metadata": {"name": "n3"}, "spec": {}, "status": {}}`

	fullEvent = `{"metadata": {"resourceVersion": "7"}, "eventTime": null, "lastTimestamp": "2026-11-27T07:00:00Z",
		"type": "Normal", "reason": "Saved", "message": "a \"b\"\tc"}`
	newEvent = `{"metadata": {"resourceVersion": "8"}, "eventTime": "2026-11-27T07:00:00.123456Z", "lastTimestamp": null,
		"type": "Warning", "reason": "MoveAborted", "message": "d"}`
	bareEvent = `{"metadata": {"resourceVersion": "9"}, "type": "Normal", "reason": "Pulled"}`
)

// list returns the objects as kubectl passes several to a template.
func list(objects ...string) string { return `{"items": [` + strings.Join(objects, ",") + `]}` }

// workload returns a Deployment or a DaemonSet with containers.
func workload(containers string) string {
	return `{"spec": {"template": {"spec": {"containers": [` + containers + `]}}}}`
}

// record returns a line of fields.
func record(fields ...string) string { return strings.Join(fields, "\t") + "\n" }

// The replayed kubectl executes no template. Here each template of the script is executed on objects.
func TestPlugin_TemplatesRender(t *testing.T) {
	full := record("P", "team", "train-0-abc12", "n1", "Running", "Burstable", "2026-11-27T07:00:00Z", `"GPU-1,GPU-2"`, `"Progressing"`,
		`"train=1,log=\t2"`, "5 1 ", "100m ", `"5Gi"`, "uid-1", `"70%"`, `"true"`, "Job/train", `"bert/2"`, `"none"`, "2026-11-27T07:00:09Z",
		`"any"`, `"move-1"`, "set")
	bare := record("P", "team", "plain", "", "Pending", "", "", "", "", "", "", "", "", "uid-2", "", "", "", "", "", "", "", "", "")
	for name, tc := range map[string]struct {
		folder string
		args   []string
		read   string // the template of this file
		object string
		want   string
	}{
		"pods":             {"cluster", []string{"top"}, "pods", list(fullPod, barePod), full + bare},
		"no pods":          {"cluster", []string{"top"}, "pods", list(), ""},
		"a pod":            {"running", []string{"explain", "second-nqh8f"}, "pod", fullPod, full},
		"a bare pod":       {"running", []string{"pause", "second-nqh8f"}, "pod", barePod, bare},
		"pods of a job":    {"gang", []string{"resume", "ddp-0-7xk2p"}, "pods", list(fullPod, barePod), full + bare},
		"the pods of jobs": {"gang", []string{"move", "job/ddp"}, "pods", list(barePod, fullPod), bare + full},
		"pods of a node":   {"drained", []string{"drain", "node-1"}, "node-pods", list(fullPod, barePod), full + bare},
		"nodes": {"cluster", []string{"top"}, "nodes", list(fullNode, oldNode, bareNode),
			record("N", "n1", "10.0.0.1 ", "48 ", "2", "A10", "true", `"GPU-1"`, ".", "closed") +
				record("N", "n2", "", "24 ", "", "", "", "", ".", "") +
				record("N", "n3", "", "", "", "", "", "", ".", "")},
		"events": {"running", []string{"explain", "second-nqh8f"}, "events", list(fullEvent, newEvent, bareEvent),
			record("2026-11-27T07:00:00Z", "7", "Normal", "Saved", `"a \"b\"\tc"`) +
				record("2026-11-27T07:00:00.123456Z", "8", "Warning", "MoveAborted", `"d"`) +
				record("-", "9", "Normal", "Pulled", `""`)},
		"moves of a pod":       {"moved", []string{"history", "train-0-xyz99"}, "pod", fullPod, record("M", "train-0-abc12", "Job/train", `"at\tn1\nat\tn2"`)},
		"moves of a bare pod":  {"moved", []string{"history", "train-0-xyz99"}, "pod", barePod, record("M", "plain", "", "")},
		"moves of pods":        {"moved", []string{"history", "job/train"}, "pods", list(barePod), record("M", "plain", "", "")},
		"a ConfigMap":          {"running", []string{"move", "second-nqh8f"}, "configmap", `{"data": {"TRELLIS_MOVES": "true"}}`, "true"},
		"an unset ConfigMap":   {"running", []string{"move", "second-nqh8f"}, "configmap", `{"data": {"OTHER": "x"}}`, ""},
		"a ConfigMap of bytes": {"running", []string{"move", "second-nqh8f"}, "configmap", `{"binaryData": {}}`, ""},
		"the extender": {"running", []string{"move", "second-nqh8f"}, "deployment", workload(
			`{"name": "scheduler", "args": ["--moves=off"]},
			{"name": "extender", "args": ["--listen=:1", "--moves=automatic"],
				"env": [{"name": "NODE_NAME", "valueFrom": {}}, {"name": "TRELLIS_MOVES", "value": "off"}],
				"envFrom": [{"secretRef": {"name": "s"}}, {"configMapRef": {"name": "extender-abc"}}]}`),
			"A\t--listen=:1\nA\t--moves=automatic\nE\tNODE_NAME=\nE\tTRELLIS_MOVES=off\nC\textender-abc\n"},
		"an extender without arguments": {"running", []string{"move", "second-nqh8f"}, "deployment", workload(`{"name": "extender"}`), ""},
		"the coordinator": {"saves", []string{"save", "second-nqh8f"}, "daemonset", workload(
			`{"name": "a", "securityContext": {"privileged": true}},
			{"name": "b", "securityContext": {"privileged": false, "capabilities": {"add": ["KILL", "SYS_PTRACE"], "drop": ["ALL"]}}}`),
			"ALL KILL SYS_PTRACE "},
		"a coordinator without rights": {"saves", []string{"save", "second-nqh8f"}, "daemonset", workload(
			`{"name": "a"}, {"name": "b", "securityContext": {"capabilities": {"drop": ["ALL"]}}}`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			parsed := run(t, tc.folder, tc.args...).templates[tc.read]
			require.NotNil(t, parsed)
			var object any
			require.NoError(t, json.Unmarshal([]byte(tc.object), &object))
			var rendered strings.Builder
			require.NoError(t, parsed.Execute(&rendered, object))
			require.Equal(t, tc.want, rendered.String())
		})
	}
}
