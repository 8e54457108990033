package gctune

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Pauses
		server := p.Around(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(time.Second) }))
		ask := func() { server.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/filter", nil)) }
		time.Sleep(time.Hour)
		require.Zero(t, p.Pause(), "nobody has asked yet")

		ask()
		require.Zero(t, p.Pause())
		time.Sleep(time.Minute)
		require.Equal(t, time.Minute, p.Pause())

		go ask()
		time.Sleep(time.Second / 2)
		require.Zero(t, p.Pause(), "somebody waits for an answer")
		time.Sleep(time.Second)
		require.Equal(t, time.Second/2, p.Pause())
	})
}
