package registry_test

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	fake "github.com/google/go-containerregistry/pkg/registry"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deploy/local/internal/image"
	"github.com/trellis-gpu/trellis/deploy/local/internal/registry"
)

func images(t *testing.T, contents ...string) []image.Image {
	t.Helper()
	var all []image.Image
	for _, content := range contents {
		path := filepath.Join(t.TempDir(), "program")
		require.NoError(t, os.WriteFile(path, []byte(content), 0o755))
		all = append(all, image.Image{Name: content, Files: map[string]string{"/p": path}, Entrypoint: []string{"/p"}})
	}
	return all
}

func serve(t *testing.T, wrap func(http.Handler) http.Handler) registry.Target {
	t.Helper()
	server := httptest.NewServer(wrap(fake.New(fake.Logger(log.New(io.Discard, "", 0)))))
	t.Cleanup(server.Close)
	return registry.Target{Address: strings.TrimPrefix(server.URL, "http://") + "/trellis", Tag: "v1"}
}

func open(h http.Handler) http.Handler { return h }

func TestPush_UploadsWhatTheRegistryLacks(t *testing.T) {
	target := serve(t, open)
	both := images(t, "one", "two")
	var out bytes.Buffer

	first, err := target.Push(t.Context(), both, false, &out)
	require.NoError(t, err)
	require.Len(t, first.Images, 2)
	require.Contains(t, out.String(), "[2/2] two")
	require.Equal(t, target.Address+"/two:v1", first.Images[1].Ref)
	require.Equal(t, "linux/"+image.Platform().Architecture, first.Platform)
	for _, pushed := range first.Images {
		require.True(t, pushed.Uploaded)
		require.Positive(t, pushed.Size)
		digest, found, err := target.Digest(t.Context(), pushed.Name)
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, pushed.Digest, digest.String())
		require.Equal(t, target.Address+"/"+pushed.Name+"@"+pushed.Digest, pushed.ByDigest(target))
	}

	second, err := target.Push(t.Context(), both, false, &out)
	require.NoError(t, err)
	require.False(t, second.Images[0].Uploaded)
	require.Equal(t, first.Images[0].Digest, second.Images[0].Digest, "the same program gives the same digest")
	_, found, err := target.Digest(t.Context(), "three")
	require.NoError(t, err)
	require.False(t, found)
}

func TestPush_DryRunDoesNotConnect(t *testing.T) {
	target := registry.Target{Address: "127.0.0.1:1/x", Tag: "v1"}
	report, err := target.Push(t.Context(), images(t, "one"), true, io.Discard)
	require.NoError(t, err)
	require.Regexp(t, "^sha256:[0-9a-f]{64}$", report.Images[0].Digest)
	require.False(t, report.Images[0].Uploaded)
	_, err = target.Push(t.Context(), images(t, "one"), false, io.Discard)
	require.ErrorContains(t, err, "push 127.0.0.1:1/x/one:v1")
	require.ErrorContains(t, err, "refused")
}

func TestPush_UsesDockerCredentials(t *testing.T) {
	target := serve(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if user, password, _ := r.BasicAuth(); user != "me" || password != "secret" {
				w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	folder := t.TempDir()
	t.Setenv("DOCKER_CONFIG", folder)
	_, err := target.Push(t.Context(), images(t, "one"), false, io.Discard)
	require.ErrorContains(t, err, "docker login "+target.Host())

	config := `{"auths":{"` + target.Host() + `":{"username":"me","password":"secret"}}}`
	require.NoError(t, os.WriteFile(filepath.Join(folder, "config.json"), []byte(config), 0o600))
	_, err = target.Push(t.Context(), images(t, "one"), false, io.Discard)
	require.NoError(t, err)
}

func TestTarget_RefusesInvalidAddresses(t *testing.T) {
	require.NoError(t, registry.Target{Address: "localhost:5000", Tag: "v1"}.Validate())
	require.NoError(t, registry.Target{Address: "registry.example.com/a/b/", Tag: "v1"}.Validate())
	for want, target := range map[string]registry.Target{
		"--registry":           {Tag: "v1"},
		"leave the scheme out": {Address: "https://example.com/x", Tag: "v1"},
		"not a host name":      {Address: "somebody/trellis", Tag: "v1"},
		"--tag":                {Address: "example.com/x"},
		"tag \"a b\"":          {Address: "example.com/x", Tag: "a b"},
	} {
		require.ErrorContains(t, target.Validate(), want)
	}
}
