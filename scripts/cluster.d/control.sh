# The control plane of a cluster, on loopback. Sourced by scripts/cluster.

pki() { echo "$state/pki/$1"; }

certificate() { # NAME SUBJECT EXTENSIONS
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$(pki "$1.key")" \
		-out "$(pki "$1.csr")" -subj "$2" 2>/dev/null &&
		printf '%s\n' "$3" >"$(pki "$1.ext")" &&
		openssl x509 -req -in "$(pki "$1.csr")" -CA "$(pki ca.crt)" -CAkey "$(pki ca.key)" -CAcreateserial \
			-days 3650 -out "$(pki "$1.crt")" -extfile "$(pki "$1.ext")" 2>/dev/null
}

make_keys() {
	[ ! -e "$(pki tokens.csv)" ] || return 0
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 \
		-keyout "$(pki ca.key)" -out "$(pki ca.crt)" -subj /CN=flowforge-test 2>/dev/null
	certificate apiserver /CN=kube-apiserver "subjectAltName=IP:127.0.0.1,IP:10.244.0.1,IP:10.96.0.1,DNS:localhost,DNS:kubernetes.default.svc
extendedKeyUsage=serverAuth"
	certificate kubelet-client /O=system:masters/CN=kube-apiserver-kubelet-client extendedKeyUsage=clientAuth
	openssl genrsa -out "$(pki sa.key)" 2048 2>/dev/null
	openssl rsa -in "$(pki sa.key)" -pubout -out "$(pki sa.pub)" 2>/dev/null
	while IFS=, read -r user rest; do
		echo "$(openssl rand -hex 24),$user,$rest"
	done >"$(pki tokens.new)" <<-END
		admin,admin,"system:masters"
		system:kube-controller-manager,controllers
		system:kube-scheduler,scheduler
		kwok,kwok,"system:masters"
		system:node:real-node-0,node,"system:nodes"
	END
	mv "$(pki tokens.new)" "$(pki tokens.csv)"
}

kubeconfig() { # FILE USER
	cat >"$1" <<-END
		apiVersion: v1
		kind: Config
		clusters: [{name: c, cluster: {server: "https://127.0.0.1:$port", certificate-authority-data: $(base64 -w0 <"$(pki ca.crt)")}}]
		users: [{name: u, user: {token: "$(grep ",$2," "$(pki tokens.csv)" | cut -d, -f1)"}}]
		contexts: [{name: c, context: {cluster: c, user: u}}]
		current-context: c
	END
}

control_runs() {
	for name in etcd kube-apiserver kube-controller-manager kube-scheduler; do
		running "$name" || return 1
	done
	[ "$fakes" -eq 0 ] || running kwok
}

start_control() {
	! control_runs || return 0
	need openssl "for the cluster's certificates"
	stop_node # left by a killed node
	stop_control
	say "starting a Kubernetes control plane …"
	umask 077
	mkdir -p "$state/pki"
	make_keys
	data=$state/etcd
	[ ! -w /dev/shm ] || data=/dev/shm/flowforge-etcd-$port # fast, and the data need not survive
	rm -rf "$data" "$state/log"
	echo "$data" >"$state/data"
	for name in controllers scheduler kwok node; do
		user=system:kube-$name
		case $name in
		controllers) user=system:kube-controller-manager ;;
		kwok) user=kwok ;;
		node) user=system:node:real-node-0 ;;
		esac
		kubeconfig "$state/$name.kubeconfig" "$user"
	done
	kubeconfig "$state/kubeconfig" admin
	start_storage
	start_controllers
	[ "$fakes" -eq 0 ] || start_fakes
}

start_storage() {
	launch etcd "$programs/etcd" --name=e --data-dir="$data" --unsafe-no-fsync=true --log-level=warn \
		--listen-client-urls="http://127.0.0.1:$((port + 1))" --advertise-client-urls="http://127.0.0.1:$((port + 1))" \
		--listen-peer-urls="http://127.0.0.1:$((port + 2))" --initial-advertise-peer-urls="http://127.0.0.1:$((port + 2))" \
		--initial-cluster="e=http://127.0.0.1:$((port + 2))"
	launch kube-apiserver "$programs/kube-apiserver" --etcd-servers="http://127.0.0.1:$((port + 1))" \
		--bind-address=127.0.0.1 --secure-port="$port" --endpoint-reconciler-type=none \
		--tls-cert-file="$(pki apiserver.crt)" --tls-private-key-file="$(pki apiserver.key)" \
		--client-ca-file="$(pki ca.crt)" --token-auth-file="$(pki tokens.csv)" \
		--authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction \
		--service-cluster-ip-range=10.96.0.0/16 --allow-privileged=true \
		--service-account-issuer=https://kubernetes.default.svc.cluster.local \
		--service-account-key-file="$(pki sa.pub)" --service-account-signing-key-file="$(pki sa.key)" \
		--kubelet-client-certificate="$(pki kubelet-client.crt)" --kubelet-client-key="$(pki kubelet-client.key)" \
		--kubelet-preferred-address-types=InternalIP,Hostname --profiling=false
	favour etcd
	favour kube-apiserver
	await 90 "the API server" kubectl get --raw /readyz
}

# A node counts as lost after 9 s of silence; its lease is renewed every 2 s.
start_controllers() {
	launch kube-controller-manager "$programs/kube-controller-manager" --kubeconfig="$state/controllers.kubeconfig" \
		--bind-address=127.0.0.1 --secure-port="$((port + 3))" --leader-elect=false \
		--use-service-account-credentials=true --root-ca-file="$(pki ca.crt)" \
		--service-account-private-key-file="$(pki sa.key)" --kube-api-qps=500 --kube-api-burst=1000 \
		--node-monitor-period=1s --node-monitor-grace-period=9s
	cat >"$state/scheduler.yaml" <<-END
		apiVersion: kubescheduler.config.k8s.io/v1
		kind: KubeSchedulerConfiguration
		leaderElection: {leaderElect: false}
		clientConnection: {kubeconfig: "$state/scheduler.kubeconfig", qps: 1000, burst: 2000}
	END
	launch kube-scheduler "$programs/kube-scheduler" --config="$state/scheduler.yaml" \
		--bind-address=127.0.0.1 --secure-port="$((port + 4))"
	favour kube-controller-manager
	favour kube-scheduler
	await 60 "the controller manager" kubectl get serviceaccount default -n default
}

start_fakes() {
	printf '%s\n' "2026-01-01T00:00:00.000000000Z stdout F hello from a fake container" >"$state/fake.log"
	sed "s#@LOG@#$state/fake.log#" "$root/tools/cluster/kwok.yaml" >"$state/kwok.yaml"
	launch kwok "$programs/kwok" --kubeconfig="$state/kwok.kubeconfig" --config="$state/kwok.yaml" \
		--manage-all-nodes=false --manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake \
		--node-ip=127.0.0.1 --node-port="$((port + 5))" --server-address="127.0.0.1:$((port + 5))" \
		--tls-cert-file="$(pki apiserver.crt)" --tls-private-key-file="$(pki apiserver.key)" \
		--node-lease-duration-seconds=8 --cidr=10.245.0.0/16
	favour kwok
	i=0
	while [ "$i" -lt "$fakes" ]; do
		cat <<-END
			---
			apiVersion: v1
			kind: Node
			metadata:
			  name: fake-gpu-$i
			  annotations: {kwok.x-k8s.io/node: fake, node.alpha.kubernetes.io/ttl: "0"}
			  labels: {type: kwok, kubernetes.io/hostname: fake-gpu-$i, kubernetes.io/os: linux, kubernetes.io/arch: amd64, nvidia.com/gpu.product: FAKE-H200}
			spec:
			  taints: [{key: kwok.x-k8s.io/node, value: fake, effect: NoSchedule}]
			status:
			  allocatable: &all {cpu: "64", memory: 512Gi, ephemeral-storage: 1Ti, pods: "2000", nvidia.com/gpu: "8"}
			  capacity: *all
		END
		i=$((i + 1))
	done >"$state/fakes.yaml"
	kubectl apply -f "$state/fakes.yaml" >/dev/null
	await 60 "every fake machine" fakes_ready
}

fakes_ready() {
	[ "$(kubectl get nodes -l type=kwok -o 'jsonpath={range .items[*]}{.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}' | grep -c True)" -ge "$fakes" ]
}

# stop_control kills the processes, because no data of the cluster is kept.
stop_control() {
	for name in kwok kube-scheduler kube-controller-manager kube-apiserver etcd; do
		finish "$name" 0
	done
	case $(cat "$state/data" 2>/dev/null) in
	/dev/shm/flowforge-etcd-* | "$state"/etcd) rm -rf "$(cat "$state/data")" ;;
	esac
	rm -rf "$state/pki" "$state/pid" "$state/data" "$state"/*.yaml "$state"/*kubeconfig "$state/fake.log"
}
