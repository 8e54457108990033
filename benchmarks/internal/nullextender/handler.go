package nullextender

import (
	"context"
	"encoding/json"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// score is the score of every node, the middle of the range.
const score = 5

// Handler serves filter, prioritize and bind.
func Handler(client kubernetes.Interface) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /filter", answer(func(_ context.Context, asked extenderv1.ExtenderArgs) any {
		return extenderv1.ExtenderFilterResult{Nodes: asked.Nodes, NodeNames: asked.NodeNames}
	}))
	mux.HandleFunc("POST /prioritize", answer(func(_ context.Context, asked extenderv1.ExtenderArgs) any {
		scores := extenderv1.HostPriorityList{}
		if asked.NodeNames != nil {
			scores = make(extenderv1.HostPriorityList, len(*asked.NodeNames))
			for i, name := range *asked.NodeNames {
				scores[i] = extenderv1.HostPriority{Host: name, Score: score}
			}
		}
		return scores
	}))
	mux.HandleFunc("POST /bind", answer(func(ctx context.Context, asked extenderv1.ExtenderBindingArgs) any {
		err := client.CoreV1().Pods(asked.PodNamespace).Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: asked.PodNamespace, Name: asked.PodName, UID: asked.PodUID},
			Target:     corev1.ObjectReference{Kind: "Node", Name: asked.Node},
		}, metav1.CreateOptions{})
		if err != nil {
			return extenderv1.ExtenderBindingResult{Error: err.Error()}
		}
		return extenderv1.ExtenderBindingResult{}
	}))
	return mux
}

// answer decodes a request, handles it, and encodes the result.
func answer[T any](verb func(context.Context, T) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var asked T
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(verb(r.Context(), asked)) // the scheduler may have closed the connection
	}
}
