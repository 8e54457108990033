//go:build linux

package network

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// rules accept the cluster's own traffic on a host whose firewall drops by default: to the API server on the bridge's
// address, and between nodes if bridged packets pass through iptables.
func rules(bridge string) [][]string {
	comment := []string{"-m", "comment", "--comment", bridge, "-j", "ACCEPT"}
	return [][]string{
		append([]string{"INPUT", "-i", bridge}, comment...),
		append([]string{"FORWARD", "-i", bridge, "-o", bridge}, comment...),
	}
}

// OpenFirewall adds the cluster's rules to the host's filter table, each once.
func (p Plan) OpenFirewall() error {
	for _, rule := range rules(p.Bridge) {
		if iptables("-C", rule) == nil {
			continue
		}
		if err := iptables("-I", rule); err != nil {
			return fmt.Errorf("add firewall rule %s: %w", strings.Join(rule, " "), err)
		}
	}
	return nil
}

// CloseFirewall deletes the cluster's rules that exist.
func CloseFirewall(cluster string) error {
	var errs []error
	for _, rule := range rules(BridgeName(cluster)) {
		for iptables("-C", rule) == nil {
			if err := iptables("-D", rule); err != nil {
				errs = append(errs, fmt.Errorf("delete firewall rule %s: %w", strings.Join(rule, " "), err))
				break
			}
		}
	}
	return errors.Join(errs...)
}

// FirewallRules lists the cluster's rules that are in force on the host.
func FirewallRules(cluster string) []string {
	var found []string
	for _, rule := range rules(BridgeName(cluster)) {
		if iptables("-C", rule) == nil {
			found = append(found, strings.Join(rule, " "))
		}
	}
	return found
}

func iptables(action string, rule []string) error {
	args := append([]string{"-w", "10", action}, rule...)
	out, err := exec.Command("iptables", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("iptables: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}
