package nullextender_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/trellis-gpu/trellis/benchmarks/internal/nullextender"
)

func TestHandler_PassesAllNodesAndBinds(t *testing.T) {
	client := fake.NewClientset()
	bindings := 0
	client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		bindings++
		return true, nil, nil
	})
	handler := nullextender.Handler(client)
	for path, tc := range map[string]struct{ body, answer string }{
		"/filter":     {`{"Pod":{},"NodeNames":["a","b"]}`, `{"Nodes":null,"NodeNames":["a","b"],"FailedNodes":null,"FailedAndUnresolvableNodes":null,"Error":""}`},
		"/prioritize": {`{"Pod":{},"NodeNames":["a","b"]}`, `[{"Host":"a","Score":5},{"Host":"b","Score":5}]`},
		"/bind":       {`{"PodName":"p","PodNamespace":"d","PodUID":"u","Node":"a"}`, `{"Error":""}`},
	} {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, path, strings.NewReader(tc.body)))
		require.Equal(t, http.StatusOK, answer.Code)
		require.True(t, json.Valid(answer.Body.Bytes()))
		require.JSONEq(t, tc.answer, answer.Body.String(), path)
	}
	require.Equal(t, 1, bindings)
}
