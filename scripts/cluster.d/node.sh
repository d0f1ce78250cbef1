# Runs this machine as a real node of a cluster, with its images. Only one node can run at a
# time, because the machine has one folder for device plugins and one tree of cgroups.
# Sourced by scripts/cluster.

runtime=/run/flowforge-cluster
bridge=ffbr0
pods=10.244.0 # the pods' network; the machine is $pods.1
node=real-node-0

containers() { ctr -a "$runtime/containerd.sock" -n k8s.io "$@"; }

node_runs() {
	running containerd && running kubelet && { [ "$gpus" -eq 0 ] || running fake-gpu-plugin; }
}

# may_join fails if this machine cannot be a node of this cluster.
may_join() {
	[ "$(id -u)" = 0 ] || fail "a real node needs root"
	owner=$(cat "$runtime/owner" 2>/dev/null || true)
	[ -n "$owner" ] && [ "$owner" != "$state" ] || return 0
	! process "$owner/pid/kubelet" >/dev/null ||
		fail "this machine is a node of another cluster already: FLOWFORGE_CLUSTER_DIR=$owner scripts/cluster stop-node"
	(state=$owner && stop_node)
}

start_node() {
	! node_runs || return 0
	stop_node # left by a killed node
	say "this machine joins as a node …"
	mkdir -p "$runtime" "$state/node/cni" "$state/node/logs" /var/lib/kubelet/device-plugins
	echo "$state" >"$runtime/owner"
	set_network
	launch_containerd
	load_images
	launch_kubelet
}

# Pods can reach only the machine's address on the bridge: the bridge has no uplink, there is no
# masquerading, and pods have no default route.
set_network() {
	# The kubelet sets most of these; stop_node restores them.
	[ -e "$state/node/sysctls" ] || sysctl kernel.panic kernel.panic_on_oops vm.overcommit_memory \
		vm.panic_on_oom kernel.keys.root_maxkeys kernel.keys.root_maxbytes \
		fs.inotify.max_user_instances net.ipv6.conf.default.disable_ipv6 >"$state/node/sysctls" 2>/dev/null || true
	# Browsers drop their connections when an interface gets an address. Otherwise the bridge
	# end of every pod would get one.
	sysctl -qw net.ipv6.conf.default.disable_ipv6=1 2>/dev/null || true
	[ "$(sysctl -n fs.inotify.max_user_instances)" -ge 512 ] || sysctl -qw fs.inotify.max_user_instances=512
	ip link show "$bridge" >/dev/null 2>&1 || ip link add "$bridge" type bridge
	ip addr replace "$pods.1/24" dev "$bridge"
	ip link set "$bridge" up
	cat >"$state/node/cni/10-pods.conflist" <<-END
		{"cniVersion": "1.0.0", "name": "pods", "plugins": [
		 {"type": "bridge", "bridge": "$bridge", "isGateway": false, "ipMasq": false, "hairpinMode": true,
		  "ipam": {"type": "host-local", "dataDir": "$state/node/ipam",
		   "ranges": [[{"subnet": "$pods.0/24", "rangeStart": "$pods.10", "rangeEnd": "$pods.250", "gateway": "$pods.1"}]]}},
		 {"type": "loopback"}]}
	END
}

launch_containerd() {
	cat >"$state/node/containerd.toml" <<-END
		version = 2
		root = "$state/node/containerd"
		state = "$runtime/state"
		[grpc]
		  address = "$runtime/containerd.sock"
		[plugins."io.containerd.grpc.v1.cri"]
		  sandbox_image = "localhost/pause:test"
		  disable_tcp_service = true
		  restrict_oom_score_adj = true # root in a container must not lower it
		  stream_server_address = "127.0.0.1"
		  stream_server_port = "0"
		  [plugins."io.containerd.grpc.v1.cri".cni]
		    bin_dir = "/usr/lib/cni"
		    conf_dir = "$state/node/cni"
		  [plugins."io.containerd.grpc.v1.cri".containerd]
		    snapshotter = "overlayfs"
		    default_runtime_name = "runc"
		    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
		      runtime_type = "io.containerd.runc.v2"
		      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
		        SystemdCgroup = false
	END
	launch containerd containerd --config "$state/node/containerd.toml"
	await 60 containerd containers version
}

load_images() {
	for archive in "$images"/*.tar; do
		containers images import "$archive" >/dev/null
	done
}

launch_kubelet() {
	cat >"$state/node/kubelet.yaml" <<-END
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		address: $pods.1
		port: $((port + 6))
		healthzPort: 0
		readOnlyPort: 0
		containerRuntimeEndpoint: unix://$runtime/containerd.sock
		cgroupDriver: cgroupfs
		failCgroupV1: false
		failSwapOn: false
		makeIPTablesUtilChains: false
		enforceNodeAllocatable: [pods]
		kubeReserved: {cpu: 100m, memory: 1Gi}
		authentication:
		  anonymous: {enabled: false}
		  webhook: {enabled: true}
		  x509: {clientCAFile: "$(pki ca.crt)"}
		authorization: {mode: Webhook}
		podLogsDir: $state/node/logs
		clusterDNS: ["$pods.1"] # no server listens there, so lookups fail immediately
		clusterDomain: cluster.local
		resolvConf: ""
		evictionHard: {memory.available: 200Mi, nodefs.available: 1%, imagefs.available: 1%}
		imageGCHighThresholdPercent: 100
		imageGCLowThresholdPercent: 99
		maxPods: 200
		syncFrequency: 10s
		nodeStatusUpdateFrequency: 5s
		nodeLeaseDurationSeconds: 8
		kubeAPIQPS: 100
		kubeAPIBurst: 200
		registryPullQPS: 0
		eventRecordQPS: 0
	END
	launch kubelet "$programs/kubelet" --config="$state/node/kubelet.yaml" --kubeconfig="$state/node.kubeconfig" \
		--root-dir="$state/node/kubelet" --cert-dir="$state/node/kubelet/pki" \
		--hostname-override="$node" --node-ip="$pods.1" --node-labels=nvidia.com/gpu.product=FAKE-L4
	favour kubelet
	await 90 "the node" node_ready
	[ "$gpus" -gt 0 ] || return 0
	launch fake-gpu-plugin "$programs/fake-gpu-plugin" -n "$gpus" -unhealthy-file "$state/node/unhealthy"
	await 60 "every fake GPU" gpus_ready
}

node_ready() {
	[ "$(kubectl get node "$node" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}')" = True ]
}

gpus_ready() {
	[ "$(kubectl get node "$node" -o 'jsonpath={.status.allocatable.nvidia\.com/gpu}')" = "$gpus" ]
}

# stop_node also works after a kill, or after the folder was removed.
stop_node() {
	[ "$(id -u)" = 0 ] || return 0
	[ -d "$state/node" ] || [ "$(cat "$runtime/owner" 2>/dev/null)" = "$state" ] || return 0
	finish fake-gpu-plugin 5
	finish kubelet 10
	! running containerd || end_tasks
	finish containerd 10
	for left in $(pgrep -f -- "--config[= ]$state/node/(kubelet|containerd)" || true); do
		kill -9 "$left" 2>/dev/null || true
	done
	for shim in $(pgrep -f "containerd-shim-runc-v2 .*-address $runtime/" || true); do
		pkill -9 -P "$shim" || true
		kill -9 "$shim" 2>/dev/null || true
	done
	forget_node
}

end_tasks() {
	for task in $(containers tasks ls -q 2>/dev/null); do
		containers tasks kill -s SIGKILL "$task" 2>/dev/null || true
	done
	for task in $(containers tasks ls -q 2>/dev/null); do
		containers tasks delete -f "$task" >/dev/null 2>&1 || true
	done
	for container in $(containers containers ls -q 2>/dev/null); do
		containers containers rm "$container" 2>/dev/null || true
	done
}

forget_node() {
	grep -E " ($state/node|$runtime)/" /proc/mounts | cut -d' ' -f2 | sort -r | while read -r mount; do
		umount -l "$mount" 2>/dev/null || true
	done
	for namespace in /run/netns/cni-*; do
		[ ! -e "$namespace" ] || ip netns delete "${namespace##*/}" 2>/dev/null || true
	done
	ip link delete "$bridge" 2>/dev/null || true
	[ ! -e "$state/node/sysctls" ] || sed 's/ = /=/' "$state/node/sysctls" | xargs -r sysctl -qw 2>/dev/null || true
	for group in /sys/fs/cgroup/kubepods /sys/fs/cgroup/*/kubepods; do
		[ ! -d "$group" ] || find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
	done
	rm -rf "$state/node" "$runtime"
}
