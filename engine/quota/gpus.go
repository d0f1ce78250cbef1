package quota

import (
	"context"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// maxGPUs is the maximum number of GPUs in a setting.
const maxGPUs = 1024

// ParseGPUs reads "A100:4,H100:2": the number of GPUs of each type on the machine, in
// the order of their indexes. "" and "none" mean no GPUs. It returns apperr.Invalid for
// anything else.
func ParseGPUs(text string) ([]fair.Device, error) {
	if text = strings.TrimSpace(text); text == "" || strings.EqualFold(text, "none") {
		return nil, nil
	}
	var devices []fair.Device
	for part := range strings.SplitSeq(text, ",") {
		name, count, ok := strings.Cut(strings.TrimSpace(part), ":")
		n, err := strconv.Atoi(count)
		if !ok || err != nil || n < 1 || len(devices)+n > maxGPUs || gpuTypeOf(name) != name || name == "" {
			return nil, apperr.New(apperr.Invalid, "%q is not a list of GPUs; use TYPE:COUNT, such as A100:4,H100:2.", text)
		}
		for range n {
			devices = append(devices, fair.Device{Index: len(devices), Type: name})
		}
	}
	return devices, nil
}

// detectLimit is the timeout of the driver query.
const detectLimit = 10 * time.Second

// DetectGPUs lists the GPUs of the machine with nvidia-smi; it returns none when the
// program is missing or fails.
func DetectGPUs(ctx context.Context) []fair.Device {
	ctx, cancel := context.WithTimeout(ctx, detectLimit)
	defer cancel()
	out, err := exec.CommandContext(ctx, "nvidia-smi", "--query-gpu=index,name", "--format=csv,noheader").Output()
	if err != nil {
		return nil
	}
	return parseNvidia(string(out))
}

// parseNvidia reads lines like "0, NVIDIA A100-SXM4-80GB".
func parseNvidia(out string) []fair.Device {
	var devices []fair.Device
	for line := range strings.Lines(out) {
		index, name, ok := strings.Cut(strings.TrimSpace(line), ",")
		n, err := strconv.Atoi(strings.TrimSpace(index))
		if !ok || err != nil || len(devices) == maxGPUs {
			continue
		}
		devices = append(devices, fair.Device{Index: n, Type: gpuTypeOf(shortGPU(name))})
	}
	slices.SortFunc(devices, func(a, b fair.Device) int { return a.Index - b.Index })
	return devices
}

// shortGPU returns the common name of a GPU: "A100" for "NVIDIA A100-SXM4-80GB".
func shortGPU(name string) string {
	name = strings.TrimSpace(name)
	for _, maker := range []string{"NVIDIA ", "Tesla ", "GeForce "} {
		name = strings.TrimPrefix(name, maker)
	}
	if model := regexp.MustCompile(`^[A-Z]{1,2}\d{1,4}[A-Z]?\b`).FindString(name); model != "" {
		return model
	}
	return name
}

// gpuTypeOf converts name to a valid part of a resource name.
func gpuTypeOf(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		case r == ' ':
			return '-'
		}
		return -1
	}, name)
	return name[:min(len(name), 40)]
}
