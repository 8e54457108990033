package apiserver_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/apiserver"
)

// TestWarning_LongName: the API server accepts a prefix of at most 253 characters for a generated name.
func TestWarning_LongName(t *testing.T) {
	var event struct {
		Metadata       struct{ GenerateName string }
		InvolvedObject struct{ Name string }
	}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&event)
	}))
	defer server.Close()
	name := strings.Repeat("p", 253)
	pod := apiserver.ObjectRef{Kind: "Pod", Namespace: strings.Repeat("n", 63), Name: name, UID: "u"}
	require.NoError(t, apiserver.New(server.Client(), server.URL).Warning(t.Context(), pod, "Reason", "message"))
	require.LessOrEqual(t, len(event.Metadata.GenerateName), 253)
	require.True(t, strings.HasSuffix(event.Metadata.GenerateName, "."))
	require.Equal(t, name, event.InvolvedObject.Name, "the name itself is complete")
}
