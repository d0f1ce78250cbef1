package worker

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// devices assigns GPUs to attempts, each to one attempt at a time.
type devices struct {
	all []int            // their indexes
	of  map[string][]int // by task ID
}

// assign returns the GPUs of an attempt as CUDA_VISIBLE_DEVICES: the first n that no other attempt
// has. It fails while too few are free.
func (d devices) assign(taskID string, n int) (string, error) {
	mine, known := d.of[taskID]
	if !known {
		for _, device := range d.all {
			if len(mine) < n && !d.used(device) {
				mine = append(mine, device)
			}
		}
		if len(mine) < n {
			return "", fmt.Errorf("the task %s needs %d GPUs, and %d are free", taskID, n, len(mine))
		}
		d.of[taskID] = mine
	}
	names := make([]string, len(mine))
	for i, device := range mine {
		names[i] = strconv.Itoa(device)
	}
	return strings.Join(names, ","), nil
}

func (d devices) used(device int) bool {
	for _, list := range d.of {
		if slices.Contains(list, device) {
			return true
		}
	}
	return false
}

func (d devices) release(taskID string) { delete(d.of, taskID) }
