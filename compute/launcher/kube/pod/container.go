package pod

import (
	"cmp"
	"path"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// privateSize bounds the in-memory volume of the task, which counts as its memory.
const privateSize = "64Mi"

// container returns the container that runs the attempt.
func (b *builder) container() corev1.Container {
	return corev1.Container{
		Name:                     Container,
		Image:                    b.image(),
		ImagePullPolicy:          b.fields.ImagePullPolicy,
		Command:                  []string{b.program(), "task", "--spec", path.Join(TaskDir, b.key), "--dir", HomeDir + "/run"},
		Env:                      b.env(),
		EnvFrom:                  b.fields.EnvFrom,
		Ports:                    b.fields.Ports,
		Resources:                b.claiming(b.resources(true)),
		VolumeMounts:             b.mounts(),
		ReadinessProbe:           b.fields.ReadinessProbe,
		SecurityContext:          containerSecurity(b.fields.ContainerSecurityContext),
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
	}
}

func (b *builder) image() string {
	return cmp.Or(b.spec.GetImage(), b.o.TaskImage)
}

// ownImage reports whether the attempt runs in FlowForge's image, which has the program:
// nothing is copied, and the pod starts a second earlier, because a kubelet checks only
// once a second whether an init container has ended.
func (b *builder) ownImage() bool { return b.image() == b.o.Image }

// program returns the path of the program that runs the attempt.
func (b *builder) program() string {
	if b.ownImage() {
		return b.o.Binary
	}
	return HomeDir + "/flowforge"
}

func (b *builder) env() []corev1.EnvVar {
	env := []corev1.EnvVar{
		fromField("FLOWFORGE_POD", "metadata.name"),
		fromField("FLOWFORGE_NAMESPACE", "metadata.namespace"),
		fromField("FLOWFORGE_MACHINE", "spec.nodeName"),
		{Name: "FLOWFORGE_PRIVATE_DIR", Value: PrivateDir},
	}
	for _, file := range []struct{ name, variable string }{
		{FileCA, "FLOWFORGE_TASK_CA"}, {FileCert, "FLOWFORGE_TASK_CERT"}, {FileKey, "FLOWFORGE_TASK_KEY"},
	} {
		if _, ok := b.o.TaskFiles[file.name]; ok {
			env = append(env, corev1.EnvVar{Name: file.variable, Value: TaskDir + "/" + file.name})
		}
	}
	if b.spec.GetResources().GetGpus() == 0 {
		// CUDA images request all GPUs through this variable; without GPUs it must be
		// void.
		env = append(env, corev1.EnvVar{Name: "NVIDIA_VISIBLE_DEVICES", Value: "void"})
	}
	return append(env, b.imageEnv(Container, b.image())...)
}

func fromField(name, field string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: field}}}
}

// leastCPU is the minimum CPU limit of a container: starting takes seconds with a small
// share of an otherwise idle CPU.
const leastCPU = 1000 // millicores

// leastMemory is the minimum memory limit of a container: the program that is copied into
// the pod and runs the command needs about 30 MiB itself.
const leastMemory = 64 // MiB

// resources returns the resources of the attempt: requests and limits are equal except
// for small shares, so that a pod gets what its quota counts and is evicted last.
func (b *builder) resources(withGPUs bool) corev1.ResourceRequirements {
	r := b.spec.GetResources()
	memory := r.GetMemoryMib()
	if memory == 0 {
		memory = b.spec.GetMemoryLimitMib()
	}
	amounts := corev1.ResourceList{}
	if n := r.GetCpuMillis(); n > 0 {
		amounts[corev1.ResourceCPU] = *resource.NewMilliQuantity(int64(n), resource.DecimalSI)
	}
	if memory > 0 {
		amounts[corev1.ResourceMemory] = *resource.NewQuantity(memory<<20, resource.BinarySI)
	}
	if n := r.GetStorageMib(); n > 0 {
		amounts[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(n<<20, resource.BinarySI)
	}
	if n := r.GetGpus(); n > 0 && withGPUs {
		amounts[corev1.ResourceName(b.o.GPUResource)] = *resource.NewQuantity(int64(n), resource.DecimalSI)
	}
	if len(amounts) == 0 {
		return corev1.ResourceRequirements{}
	}
	limits := amounts.DeepCopy()
	if b.spec.GetMemoryLimitMib() == 0 {
		delete(limits, corev1.ResourceMemory) // a default request is not a limit
	}
	if n := r.GetCpuMillis(); n > 0 && n < leastCPU {
		limits[corev1.ResourceCPU] = *resource.NewMilliQuantity(leastCPU, resource.DecimalSI)
	}
	if n := b.spec.GetMemoryLimitMib(); n > 0 && memory < leastMemory {
		limits[corev1.ResourceMemory] = *resource.NewQuantity(leastMemory<<20, resource.BinarySI)
	}
	return corev1.ResourceRequirements{Requests: amounts, Limits: limits}
}

func (b *builder) mounts() []corev1.VolumeMount {
	mounts := []corev1.VolumeMount{
		{Name: homeVolume, MountPath: HomeDir},
		{Name: taskVolume, MountPath: TaskDir, ReadOnly: true},
		{Name: privateVolume, MountPath: PrivateDir},
	}
	if len(b.fields.Members) > 0 {
		mounts = append(mounts, setMount())
	}
	if b.shm() {
		mounts = append(mounts, corev1.VolumeMount{Name: shmVolume, MountPath: "/dev/shm"})
	}
	return append(mounts, b.fields.VolumeMounts...)
}

// shm reports whether the pod has its own /dev/shm. That of the container runtime has 64
// MiB, too little for the workers of a data loader with a GPU.
func (b *builder) shm() bool {
	taken := slices.ContainsFunc(b.fields.VolumeMounts, func(m corev1.VolumeMount) bool {
		return path.Clean(m.MountPath) == "/dev/shm"
	})
	return !taken && (b.fields.ShmSize != nil || b.spec.GetResources().GetGpus() > 0 || Gang(b.spec) > 1)
}

func (b *builder) volumes() []corev1.Volume {
	secretMode := int32(0o440)
	private := resource.MustParse(privateSize)
	volumes := []corev1.Volume{
		{Name: homeVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: taskVolume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: b.name, DefaultMode: &secretMode}}},
		{Name: privateVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: &private}}},
	}
	if len(b.fields.Members) > 0 {
		volumes = append(volumes, corev1.Volume{Name: setVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	}
	if b.shm() {
		volumes = append(volumes, corev1.Volume{Name: shmVolume, VolumeSource: corev1.VolumeSource{
			EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: b.fields.ShmSize},
		}})
	}
	return slices.Concat(volumes, b.fields.Volumes, b.claimVolumes())
}

// initContainers are those of FlowForge, those of the operator, and the sidecars, which
// start last and end with the task.
func (b *builder) initContainers() []corev1.Container {
	always := corev1.ContainerRestartPolicyAlways
	var all []corev1.Container
	if !b.ownImage() {
		all = append(all, b.installer(InitContainer, HomeDir, homeVolume))
	}
	if len(b.fields.Members) > 0 {
		all = append(all, b.installer(setVolume, SetDir, setVolume))
	}
	for _, c := range b.fields.InitContainers {
		c.SecurityContext = containerSecurity(c.SecurityContext)
		all = append(all, c)
	}
	for _, c := range b.fields.Sidecars {
		c.SecurityContext = containerSecurity(c.SecurityContext)
		c.RestartPolicy = &always
		all = append(all, c)
	}
	return all
}

// installer copies the program into a pod whose image lacks it.
func (b *builder) installer(name, dir, volume string) corev1.Container {
	return corev1.Container{
		Name:                     name,
		Image:                    b.o.Image,
		ImagePullPolicy:          b.o.Defaults.ImagePullPolicy,
		Command:                  []string{b.o.Binary, "install", dir},
		Resources:                b.resources(false),
		VolumeMounts:             []corev1.VolumeMount{{Name: volume, MountPath: dir}},
		SecurityContext:          containerSecurity(nil),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

// gangEnv returns the variables of torch.distributed and torchrun. One process runs in
// each pod unless the command is a launcher such as torchrun, which reads PET_* and sets
// the other variables for its processes.
func (b *builder) gangEnv(rank corev1.EnvVar, master string) []corev1.EnvVar {
	pods, port := strconv.Itoa(Gang(b.spec)), strconv.Itoa(MasterPort)
	perPod := strconv.Itoa(max(1, int(b.spec.GetResources().GetGpus())))
	value := func(name, value string) corev1.EnvVar { return corev1.EnvVar{Name: name, Value: value} }
	ranked := func(name string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, Value: rank.Value, ValueFrom: rank.ValueFrom.DeepCopy()}
	}
	return []corev1.EnvVar{
		value("MASTER_ADDR", master), value("MASTER_PORT", port),
		value("WORLD_SIZE", pods), ranked("RANK"), value("LOCAL_RANK", "0"), value("LOCAL_WORLD_SIZE", "1"),
		value("NNODES", pods), ranked("NODE_RANK"),
		value("PET_MASTER_ADDR", master), value("PET_MASTER_PORT", port),
		value("PET_NNODES", pods), ranked("PET_NODE_RANK"), value("PET_NPROC_PER_NODE", perPod),
		value("FLOWFORGE_PODS", pods), ranked("FLOWFORGE_RANK"), fromField("FLOWFORGE_POD_IP", "status.podIP"),
	}
}

func setMount() corev1.VolumeMount { return corev1.VolumeMount{Name: setVolume, MountPath: SetDir} }

// members returns the containers that run next to the task's until they end.
func (b *builder) members() []corev1.Container {
	var all []corev1.Container
	for _, c := range b.fields.Members {
		c.SecurityContext = containerSecurity(c.SecurityContext)
		c.VolumeMounts = slices.Concat([]corev1.VolumeMount{setMount()}, c.VolumeMounts)
		c.Env = slices.Concat(c.Env, b.imageEnv(c.Name, c.Image))
		all = append(all, c)
	}
	return all
}
