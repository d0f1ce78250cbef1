// Command cluster contains a complete Kubernetes for tests in one binary: etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler, kubelet, kubectl, kwok and a device plugin with
// simulated GPUs. The name of the binary (a link) or its first argument selects the program. A
// separate module keeps these packages out of FlowForge's dependencies. scripts/cluster starts
// and stops the cluster.
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	_ "time/tzdata" // the API server checks time zones

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"

	"github.com/flowforge/flowforge/tools/cluster/fakegpu"
)

// programs returns the programs of the binary by name. Each of them ends the process.
func programs() map[string]func() {
	return map[string]func(){
		"etcd":                    func() { etcdmain.Main(os.Args) },
		"kube-apiserver":          func() { os.Exit(cli.Run(apiserver.NewAPIServerCommand())) },
		"kube-controller-manager": func() { os.Exit(cli.Run(controllers.NewControllerManagerCommand())) },
		"kube-scheduler":          func() { os.Exit(cli.Run(scheduler.NewSchedulerCommand())) },
		"kubelet":                 func() { os.Exit(cli.Run(kubelet.NewKubeletCommand(context.Background()))) },
		"kubectl":                 runKubectl,
		"kwok":                    runKwok,
		"fake-gpu-plugin":         func() { os.Exit(fakegpu.Run(os.Args[1:])) },
	}
}

func main() {
	all := programs()
	if run, ok := all[filepath.Base(os.Args[0])]; ok {
		run()
		return
	}
	if len(os.Args) > 1 {
		if run, ok := all[os.Args[1]]; ok {
			os.Args = os.Args[1:]
			run()
			return
		}
	}
	fmt.Fprintf(os.Stderr, "usage: cluster PROGRAM [flags], where PROGRAM is one of %s\n",
		strings.Join(slices.Sorted(maps.Keys(all)), ", "))
	os.Exit(2)
}
