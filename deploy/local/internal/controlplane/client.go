package controlplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

const maxAnswer = 32 << 20 // bytes; a list of MaxNodes nodes has well under one MiB

// Client is an administrator's client for the few requests that starting a cluster needs.
type Client struct {
	url  string
	http *http.Client
}

// NewClient reads the administrator's certificate from the cluster's folder.
func (l Layout) NewClient() (*Client, error) {
	cert, err := tls.LoadX509KeyPair(l.Folder.PKI("client-kubeconfig.crt"), l.Folder.PKI("client-kubeconfig.key"))
	if err != nil {
		return nil, fmt.Errorf("load the administrator's certificate: %w", err)
	}
	ca, err := os.ReadFile(l.Folder.PKI("ca.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{cert}}}
	return &Client{url: l.Plan.APIURL(), http: &http.Client{Transport: transport, Timeout: 5 * time.Second}}, nil
}

func (c *Client) get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s", path, resp.Status)
	}
	return body, nil
}

// Serving returns nil once the API server is ready.
func (c *Client) Serving(ctx context.Context) error {
	_, err := c.get(ctx, "/readyz")
	return err
}

// Pending returns those of the wanted nodes that cannot run pods yet, with the reason.
func (c *Client) Pending(ctx context.Context, wanted []string) (map[string]string, error) {
	body, err := c.get(ctx, "/api/v1/nodes")
	if err != nil {
		return nil, err
	}
	return pending(body, wanted)
}

func pending(body []byte, wanted []string) (map[string]string, error) {
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Spec     struct{ Taints []struct{ Key string } }
			Status   struct {
				Conditions []struct{ Type, Status, Message string }
			}
		}
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("decode the list of nodes: %w", err)
	}
	waiting := map[string]string{}
	for _, name := range wanted {
		waiting[name] = "kubelet has not registered yet"
	}
	for _, node := range list.Items {
		if _, ok := waiting[node.Metadata.Name]; !ok {
			continue
		}
		reason := "kubelet reports no condition yet"
		for _, c := range node.Status.Conditions {
			if c.Type == "Ready" {
				reason = c.Message
				if c.Status == "True" {
					reason = ""
				}
			}
		}
		if reason == "" && len(node.Spec.Taints) > 0 {
			reason = "taint " + node.Spec.Taints[0].Key
		}
		if reason == "" {
			delete(waiting, node.Metadata.Name)
		} else {
			waiting[node.Metadata.Name] = reason
		}
	}
	return waiting, nil
}

// DefaultAccount returns nil once pods can be created in the default namespace: they need its service account.
func (c *Client) DefaultAccount(ctx context.Context) error {
	_, err := c.get(ctx, "/api/v1/namespaces/default/serviceaccounts/default")
	return err
}
