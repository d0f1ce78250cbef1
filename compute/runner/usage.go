package runner

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// Names of the resource usage metrics. Those of a GPU contain its number on the attempt's
// machine (in a pod: from 0).
const (
	metricCPU       = "system.cpu"        // cores in use
	metricMemory    = "system.memory_mib" // without memory that the kernel can drop
	metricGPUUse    = "system.gpu%d_utilisation"
	metricGPUMemory = "system.gpu%d_memory_mib"
)

const (
	defaultSampleUse = 10 * time.Second
	gpuLimit         = 5 * time.Second // of one call of nvidia-smi
	gpuGiveUp        = 3               // consecutive failures after which it is no longer called
	maxTelemetry     = 4096            // batches that may wait in an outbox
)

// cpuSample is the CPU time that an attempt had used at a given time.
type cpuSample struct {
	at  time.Time
	cpu time.Duration
}

// recordUse adds one point to each of the attempt's metrics. used is the usage of its
// processes; in a pod the control group is more accurate.
func (s *Supervisor) recordUse(a *attempt, used taskUsage, now time.Time) {
	if s.config.Pod != nil {
		if own, ok := s.cgroup.used(); ok {
			used = own
		}
	}
	last := a.lastCPU
	a.lastCPU = cpuSample{now, used.cpu}
	a.points++
	point := func(name string, value float64) *flowforgev1.MetricPoint {
		return &flowforgev1.MetricPoint{
			Timestamp: now.UnixMilli(), Name: name, Type: "gauge", Value: value,
			Tags: a.gang.tags(), Sequence: a.gang.sequence(a.points),
		}
	}
	points := []*flowforgev1.MetricPoint{point(metricMemory, float64(used.memory)/(1<<20))}
	if elapsed := now.Sub(last.at); !last.at.IsZero() && elapsed > 0 && used.cpu >= last.cpu {
		points = append(points, point(metricCPU, float64(used.cpu-last.cpu)/float64(elapsed)))
	}
	for _, g := range s.devices.of(a) {
		points = append(points,
			point(fmt.Sprintf(metricGPUUse, g.index), g.utilisation),
			point(fmt.Sprintf(metricGPUMemory, g.index), g.memoryMiB))
	}
	s.reporter.update(a.box, func() {
		if len(a.box.telemetry) < maxTelemetry {
			a.box.telemetry = append(a.box.telemetry, &flowforgev1.Telemetry{Metrics: points})
		}
	})
}

// gpu is one device as reported by nvidia-smi.
type gpu struct {
	index       int
	uuid        string
	utilisation float64 // percent
	memoryMiB   float64
}

// gpuWatch calls nvidia-smi, one call at a time and only while an attempt has GPUs. A
// machine without it has no GPU metrics.
type gpuWatch struct {
	s       *Supervisor
	command string // "": not installed

	mu       sync.Mutex
	asking   bool
	failures int
	found    []gpu
	at       time.Time
}

func newGPUWatch(s *Supervisor) *gpuWatch {
	w := &gpuWatch{s: s}
	w.command, _ = s.base.lookPath("nvidia-smi", "/")
	return w
}

// of returns the devices of the attempt from the last call and starts the next one.
func (w *gpuWatch) of(a *attempt) []gpu {
	visible := visibleDevices(a.spec, w.s.base, w.s.config.Pod != nil)
	if w.command == "" || visible == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.asking && w.failures < gpuGiveUp {
		w.asking = true
		w.s.tasks.Go(w.requestSample)
	}
	if time.Since(w.at) > 3*w.s.config.SampleUse {
		return nil
	}
	var devices []gpu
	for _, g := range w.found {
		if slices.Contains(visible, "all") || slices.Contains(visible, strconv.Itoa(g.index)) || slices.Contains(visible, g.uuid) {
			devices = append(devices, g)
		}
	}
	return devices
}

// visibleDevices returns the devices that an attempt may use, by number or UUID; nil:
// none. In a pod, nvidia-smi shows only the pod's devices.
func visibleDevices(spec *flowforgev1.AttemptSpec, base environ, pod bool) []string {
	if pod {
		if spec.GetResources().GetGpus() > 0 {
			return []string{"all"}
		}
		return nil
	}
	for _, env := range []environ{spec.Env, base} {
		for _, name := range []string{"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"} {
			switch value, ok := env[name]; {
			case !ok:
			case value == "" || value == "void" || value == "none":
				return nil
			default:
				return strings.Split(value, ",")
			}
		}
	}
	return nil
}

func (w *gpuWatch) requestSample() {
	ctx, cancel := context.WithTimeout(w.s.ctx, gpuLimit)
	defer cancel()
	var found []gpu
	c := command{w.command, []string{
		w.command, "--query-gpu=index,uuid,utilization.gpu,memory.used", "--format=csv,noheader,nounits",
	}}
	status, err := w.s.runTool(ctx, c, w.s.base, "/", func(line string) {
		if g, ok := parseGPU(line); ok {
			found = append(found, g)
		}
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asking = false
	if err != nil || status.code != 0 || ctx.Err() != nil {
		w.failures++
		return
	}
	w.failures, w.found, w.at = 0, found, time.Now()
}

// parseGPU reads a line such as "0, GPU-7f…, 35, 1024"; a missing value is "[N/A]".
func parseGPU(line string) (gpu, bool) {
	fields := strings.Split(line, ",")
	if len(fields) != 4 {
		return gpu{}, false
	}
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	index, err := strconv.Atoi(fields[0])
	if err != nil {
		return gpu{}, false
	}
	g := gpu{index: index, uuid: fields[1]}
	g.utilisation, _ = strconv.ParseFloat(fields[2], 64)
	g.memoryMiB, _ = strconv.ParseFloat(fields[3], 64)
	return g, true
}
