package pod_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const execution = "019aa5c8-7f3e-7c11-9a40-3f0c2d1b5e77"

func attempt(change func(*flowforgev1.AttemptSpec)) *flowforgev1.AttemptSpec {
	spec := &flowforgev1.AttemptSpec{
		TaskId: execution + ".3.1", Name: "ff-" + execution + "-3-1", Token: "token", ExecutionId: execution,
		Node: "train", Attempt: 1, TenantId: "01900000-0000-7000-8000-000000000001", ProjectId: "01900000-0000-7000-8000-000000000003",
		WorkflowId: "019aa5c8-0000-7c11-9a40-3f0c2d1b5e01", InputsJson: `{"epochs":3}`,
		Work:      &flowforgev1.AttemptSpec_Process{Process: &flowforgev1.Process{Command: []string{"python3", "train.py"}}},
		GraceMs:   10_000,
		Resources: &flowforgev1.Resources{CpuMillis: 1500, MemoryMib: 2048}, MemoryLimitMib: 2048,
	}
	if change != nil {
		change(spec)
	}
	return spec
}

func options() pod.Options {
	return pod.Options{Namespace: "ff-acme-vision-0c2d1b5e7701", Installation: "i7f3e", Image: "flowforge:1", TaskImage: "python:3.13"}
}

func fields(text string) func(*flowforgev1.AttemptSpec) {
	return func(spec *flowforgev1.AttemptSpec) { spec.PodJson = text }
}

// shape is one kind of attempt, and the golden file of its objects.
type shape struct {
	name    string
	change  func(*flowforgev1.AttemptSpec)
	options func(*pod.Options)
}

// imageCommands sets the command of one image.
func imageCommands(o *pod.Options) {
	o.ImageCommands = map[string]pod.ImageCommand{"tool:1": {Entrypoint: []string{"/tool", "--at=$(HOME)"}, Cmd: []string{"<all>"}}}
}

func shapes() []shape {
	gang := func(s *flowforgev1.AttemptSpec) {
		s.Pods, s.Resources.Gpus, s.Resources.GpuType = 4, 8, "H100"
	}
	return []shape{
		{name: "plain"},
		{name: "image_and_timeout", change: func(s *flowforgev1.AttemptSpec) {
			s.Image, s.TimeoutMs, s.PreemptGraceMs, s.Resources.StorageMib = "example.org/torch:2.9", 3_600_500, 120_000, 10_240
			s.Node, s.Traceparent = "Lauf für Köln", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		}},
		{name: "own_image", options: func(o *pod.Options) { o.TaskImage = "" }},
		{name: "gpu_one_label", change: func(s *flowforgev1.AttemptSpec) {
			s.Resources.Gpus, s.Resources.GpuType = 2, "H100"
			s.PodJson = `{"shmSize":"8Gi","nodeSelector":{"pool":"train"}}`
		}, options: func(o *pod.Options) { o.GPUTypes = pod.GPUTypes{"H100": {"NVIDIA-H100-80GB-HBM3"}} }},
		{name: "gpu_many_labels", change: func(s *flowforgev1.AttemptSpec) {
			s.Resources.Gpus, s.Resources.GpuType = 1, "A100"
			s.PodJson = `{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
				{"matchExpressions":[{"key":"zone","operator":"In","values":["a"]}]},{"matchExpressions":[{"key":"zone","operator":"In","values":["b"]}]}]}}}}`
		}, options: func(o *pod.Options) {
			o.GPULabel, o.GPUResource = "accelerator", "example.com/gpu"
			o.GPUTypes = pod.GPUTypes{"A100": {"a100-40", "a100-80"}}
		}},
		{name: "serves", change: func(s *flowforgev1.AttemptSpec) {
			s.Serves = true
			s.PodJson = `{"ports":[{"containerPort":8080}],"readinessProbe":{"httpGet":{"path":"/","port":8080}},"annotations":{"note":"of the operator"}}`
		}},
		{name: "image_command", change: func(s *flowforgev1.AttemptSpec) {
			s.Work = &flowforgev1.AttemptSpec_Process{Process: &flowforgev1.Process{Command: []string{"hi"}, ImageCommand: true, ImageFolder: true}}
			s.Image, s.PodJson = "tool:1", `{"imageCommands":{"task":true}}`
		}, options: imageCommands},
		{name: "image_command_of_members", change: func(s *flowforgev1.AttemptSpec) {
			s.Image = "named:1"
			s.PodJson = `{"imageCommands":{"a":false},"members":[
				{"name":"a","image":"tool:1","command":["/flowforge-set/flowforge","members","{}"],"env":[{"name":"E","value":"f"}]},
				{"name":"b","image":"tool:1","command":["/flowforge-set/flowforge","members","{}"]}]}`
		}, options: imageCommands},
		{name: "gang", change: gang},
		{name: "jobset", change: gang, options: func(o *pod.Options) { o.JobSet = true }},
		{name: "sidecars", change: fields(`{
			"sidecars":[{"name":"proxy","image":"proxy:1","args":["--port=5432"],"ports":[{"containerPort":5432}]}],
			"initContainers":[{"name":"prepare","image":"busybox:1","command":["sh","-c","true"],"securityContext":{"readOnlyRootFilesystem":true}}],
			"volumes":[{"name":"scratch","emptyDir":{"sizeLimit":"1Gi"}},{"name":"data","persistentVolumeClaim":{"claimName":"imagenet","readOnly":true}}],
			"volumeMounts":[{"name":"scratch","mountPath":"/scratch"},{"name":"data","mountPath":"/data","readOnly":true}]}`)},
		{name: "patch", change: fields(`{"podSpecPatch":"terminationGracePeriodSeconds: 45\ncontainers:\n- name: task\n  env:\n  - {name: NCCL_DEBUG, value: INFO}\nhostAliases:\n- {ip: 10.0.0.9, hostnames: [store]}\n"}`)},
		{name: "placing", change: fields(`{
			"priorityClassName":"batch","serviceAccountName":"trainer","automountServiceAccountToken":true,"schedulerName":"volcano","runtimeClassName":"gvisor",
			"imagePullSecrets":[{"name":"registry"}],"imagePullPolicy":"Always","nodeSelector":{"disk":"ssd"},
			"tolerations":[{"key":"dedicated","operator":"Equal","value":"ml","effect":"NoSchedule"},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],
			"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"kubernetes.io/hostname","whenUnsatisfiable":"ScheduleAnyway","labelSelector":{"matchLabels":{"app":"x"}}}],
			"labels":{"app":"x"},"annotations":{"note":"of the operator"},"hostAliases":[{"ip":"10.0.0.7","hostnames":["db"]}],
			"dnsPolicy":"None","dnsConfig":{"nameservers":["10.0.0.10"]},"envFrom":[{"configMapRef":{"name":"settings"}}],
			"ports":[{"name":"board","containerPort":6006}],"activeDeadlineSeconds":600,"terminationGracePeriodSeconds":90}`)},
		{name: "defaults", change: fields(`{"nodeSelector":{"pool":"mine"},"imagePullSecrets":[{"name":"b"}],"volumes":[{"name":"cache","emptyDir":{}}],
			"podSpecPatch":"priority: 5\n","securityContext":{"runAsUser":2000}}`),
			options: func(o *pod.Options) {
				o.Defaults = mustParse(`{"nodeSelector":{"pool":"all","arch":"amd64"},"imagePullSecrets":[{"name":"a"},{"name":"b"}],"imagePullPolicy":"Never",
				"volumes":[{"name":"cache","persistentVolumeClaim":{"claimName":"cache"}}],"volumeMounts":[{"name":"cache","mountPath":"/cache"}],
				"tolerations":[{"key":"kwok.x-k8s.io/node","operator":"Exists"}],"podSpecPatch":"priority: 1\nhostname: host\n","securityContext":{"fsGroup":3000}}`)
				o.TaskFiles = map[string][]byte{"ca.crt": []byte("certificate")}
			}},
		{name: "baseline_root", change: fields(`{"securityContext":{"runAsUser":0},"containerSecurityContext":{"capabilities":{"add":["CHOWN"]}}}`),
			options: func(o *pod.Options) { o.PodSecurity = pod.LevelBaseline }},
		{name: "privileged", change: fields(`{"containerSecurityContext":{"privileged":true},"volumes":[{"name":"dev","hostPath":{"path":"/dev/infiniband"}}],"volumeMounts":[{"name":"dev","mountPath":"/dev/infiniband"}]}`),
			options: func(o *pod.Options) { o.PodSecurity = pod.LevelPrivileged }},
		{name: "resident", change: func(s *flowforgev1.AttemptSpec) { s.Resident, s.Resources.CpuMillis = true, 50 }},
		{name: "big_inputs", change: func(s *flowforgev1.AttemptSpec) {
			s.InputsJson = `{"text":"` + strings.Repeat("much ", 40_000) + `"}`
		}},
		{name: "nothing_asked", change: func(s *flowforgev1.AttemptSpec) { s.Resources, s.MemoryLimitMib = nil, 0 }},
	}
}

func mustParse(text string) pod.Fields {
	f, err := pod.ParseFields([]byte(text))
	if err != nil {
		panic(err)
	}
	return f
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for _, s := range shapes() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			o := options()
			if s.options != nil {
				s.options(&o)
			}
			spec := attempt(s.change)
			objects, err := pod.Build(spec, o)
			require.NoError(t, err)
			again, err := pod.Build(spec, o)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(objects, again), "the same attempt gives the same objects")
			compareGolden(t, filepath.Join("testdata", s.name+".yaml"), render(t, objects))
		})
	}
}

// render returns objects as they would be applied; of a Secret only its data.
func render(t *testing.T, objects *pod.Objects) []byte {
	t.Helper()
	var all []any
	for _, p := range objects.Pods {
		all = append(all, p)
	}
	if objects.JobSet != nil {
		all = append(all, objects.JobSet)
	}
	if objects.Service != nil {
		all = append(all, objects.Service)
	}
	secret := objects.Secret.DeepCopy()
	secret.StringData = map[string]string{}
	for name, data := range secret.Data {
		secret.StringData[name] = string(data)
		if strings.HasSuffix(name, ".gz") {
			secret.StringData[name] = "(compressed)"
		}
	}
	secret.Data = nil
	all = append(all, secret)
	var out bytes.Buffer
	for _, object := range all {
		data, err := yaml.Marshal(object)
		require.NoError(t, err)
		out.WriteString("---\n")
		out.Write(data)
	}
	return out.Bytes()
}

func compareGolden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o600))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run the test with -update to write it")
	require.Empty(t, cmp.Diff(string(want), string(got)))
}

func TestSpecReachesTheTask(t *testing.T) {
	t.Parallel()
	for _, size := range []int{10, 400_000} {
		spec := attempt(func(s *flowforgev1.AttemptSpec) {
			s.InputsJson = `"` + strings.Repeat("x", size) + `"`
			s.PodJson = `{"labels":{"a":"b"}}`
		})
		objects, err := pod.Build(spec, options())
		require.NoError(t, err)
		name := filepath.Base(objects.Pods[0].Spec.Containers[0].Command[3])
		data := objects.Secret.Data[name]
		if strings.HasSuffix(name, ".gz") {
			r, err := gzip.NewReader(bytes.NewReader(data))
			require.NoError(t, err)
			data, err = io.ReadAll(r)
			require.NoError(t, err)
		}
		var read flowforgev1.AttemptSpec
		require.NoError(t, protojson.Unmarshal(data, &read))
		require.Equal(t, spec.GetInputsJson(), read.GetInputsJson())
		require.Equal(t, spec.GetToken(), read.GetToken())
		require.Empty(t, read.GetPodJson(), "the pod fields are not part of the task's spec")
	}
}

func TestTooLargeForASecret(t *testing.T) {
	t.Parallel()
	random := rand.NewChaCha8([32]byte{1})
	noise := make([]byte, 2<<20)
	_, _ = random.Read(noise)
	text, err := json.Marshal(noise)
	require.NoError(t, err)
	_, err = pod.Build(attempt(func(s *flowforgev1.AttemptSpec) { s.InputsJson = string(text) }), options())
	require.Equal(t, apperr.Invalid, apperr.CodeOf(err))
	require.Contains(t, apperr.MessageOf(err), "2 MiB")
	require.Contains(t, apperr.MessageOf(err), "1 MiB")
}

func TestNames(t *testing.T) {
	t.Parallel()
	spec := attempt(func(s *flowforgev1.AttemptSpec) { s.TaskId, s.Pods = execution+".99999.999", 999 })
	require.Equal(t, attempt(nil).GetName(), pod.Name(attempt(nil).GetTaskId()))
	objects, err := pod.Build(spec, options())
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, p := range objects.Pods {
		require.LessOrEqual(t, len(p.Name), 63)
		require.False(t, seen[p.Name])
		seen[p.Name] = true
		require.Equal(t, spec.GetTaskId(), p.Labels[pod.LabelTask])
	}
	require.Len(t, seen, 999)
}

func TestGangEnvironment(t *testing.T) {
	t.Parallel()
	objects, err := pod.Build(attempt(func(s *flowforgev1.AttemptSpec) { s.Pods = 3 }), options())
	require.NoError(t, err)
	require.Len(t, objects.Pods, 3)
	for rank, p := range objects.Pods {
		env := map[string]string{}
		for _, v := range p.Spec.Containers[0].Env {
			env[v.Name] = v.Value
		}
		require.Equal(t, []string{"rank-0." + objects.Service.Name + "." + p.Namespace + ".svc", "29500", "3", "0", "1"},
			[]string{env["MASTER_ADDR"], env["MASTER_PORT"], env["WORLD_SIZE"], env["LOCAL_RANK"], env["PET_NPROC_PER_NODE"]})
		for _, name := range []string{"RANK", "NODE_RANK", "PET_NODE_RANK", "FLOWFORGE_RANK"} {
			require.Equal(t, p.Labels[pod.LabelRank], env[name])
		}
		require.Equal(t, string(rune('0'+rank)), env["RANK"])
		require.Equal(t, objects.Service.Name, p.Spec.Subdomain)
	}
	require.Equal(t, corev1.ClusterIPNone, objects.Service.Spec.ClusterIP)
}
