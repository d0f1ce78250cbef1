# FlowForge's images without a registry: the Dockerfile on a base made by debootstrap,
# built by buildah inside a chroot. Sourced by scripts/cluster.

bud() { buildah --root "$cache/cluster/storage" --runroot "$cache/cluster/storage.run" "$@"; }

# build_images builds the images of pods. It uses Go and the caches of this machine, at the
# paths where the Dockerfile's build image has them.
build_images() {
	say "building FlowForge's images …"
	mkdir -p "$images" "$cache/cluster/empty"
	log=$cache/cluster/images.log
	(
		cd "$root"
		go mod download
		bud bud -q --isolation chroot --pull-never --layers=false -t localhost/flowforge:test \
			--build-arg GO_IMAGE=localhost/base:test --build-arg PYTHON_IMAGE=localhost/base:test \
			-v "$(go env GOROOT):/usr/local/go:ro" -v "$(go env GOMODCACHE):/root/go/pkg/mod" \
			-v "$(go env GOCACHE):/root/.cache/go-build" .
	) >"$log" 2>&1 || { tail -n 15 "$log" >&2; fail "the Dockerfile does not build"; }
	for image in flowforge task pause; do
		save_image "$image" >>"$log" 2>&1 || { tail -n 15 "$log" >&2; fail "the image $image cannot be saved"; }
	done
}

save_image() { # NAME
	[ "$1" = flowforge ] || [ ! -e "$images/$1.tar" ] || return 0
	rm -f "$images/.$1.tar" &&
		bud push -q "localhost/$1:test" "docker-archive:$images/.$1.tar:localhost/$1:test" &&
		mv "$images/.$1.tar" "$images/$1.tar"
}
