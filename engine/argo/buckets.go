package argo

import (
	"maps"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/engine/workflow"
)

// outside reports whether an artifact of s3 is in a bucket outside of FlowForge's store.
func (s *s3File) outside() bool {
	return s.Bucket != "" || s.Endpoint != "" || s.AccessKeySecret != nil || s.SecretKeySecret != nil
}

// inBucket reports whether an artifact is outside of FlowForge's store, at a place that may
// require credentials.
func (a artifact) inBucket() bool {
	return a.S3 != nil && a.S3.outside() || a.OSS != nil || a.Azure != nil || a.GCS != nil ||
		a.Artifactory != nil || a.HTTP != nil && a.HTTP.Auth != nil
}

// fetched reports whether an artifact has a source of its own, so that the launch does not
// provide it.
func (a artifact) fetched() bool {
	return a.Raw != nil || a.HTTP != nil || a.Git != nil || a.inBucket()
}

// bucketOf describes where an artifact is in a bucket. Credentials are secrets of the
// project; a bucket without credentials is public.
func (f *fileSources) bucketOf(a artifact, in scope, path string) map[string]any {
	switch {
	case a.OSS != nil:
		return f.oss(a.OSS, in, path+".oss")
	case a.Azure != nil:
		return f.azure(a.Azure, in, path+".azure")
	case a.GCS != nil:
		return f.gcs(a.GCS, in, path+".gcs")
	case a.Artifactory != nil:
		return f.artifactory(a.Artifactory, in, path+".artifactory")
	case a.HTTP != nil:
		return f.web(a.HTTP, in, path+".http")
	}
	return f.s3(a.S3, in, path+".s3")
}

func (f *fileSources) s3(s *s3File, in scope, path string) map[string]any {
	f.refuse(s.Bucket == "", path+".bucket", "Set the bucket. A key without a bucket and an endpoint refers to a file of this execution.")
	f.refuse(s.Key == "", path+".key", "Set the object.")
	out := f.location("s3", map[string]string{"bucket": s.Bucket, "key": s.Key, "endpoint": s.Endpoint, "region": s.Region}, in, path)
	if s.Insecure {
		out["insecure"] = "true"
	}
	f.keyPair(out, s.AccessKeySecret, s.SecretKeySecret, path)
	f.credential(out, "sessionTokenSecret", s.SessionToken, path)
	return out
}

func (f *fileSources) oss(s *ossFile, in scope, path string) map[string]any {
	f.refuse(s.Bucket == "", path+".bucket", "Set the bucket.")
	f.refuse(s.Key == "", path+".key", "Set the object.")
	f.refuse(s.Endpoint == "", path+".endpoint", "Set the endpoint of the bucket, such as oss-cn-hangzhou.aliyuncs.com.")
	out := f.location("oss", map[string]string{"bucket": s.Bucket, "key": s.Key, "endpoint": s.Endpoint}, in, path)
	f.keyPair(out, s.AccessKeySecret, s.SecretKeySecret, path)
	return out
}

func (f *fileSources) azure(s *azureFile, in scope, path string) map[string]any {
	f.refuse(s.Container == "", path+".container", "Set the container.")
	f.refuse(s.Blob == "", path+".blob", "Set the blob.")
	f.refuse(s.Endpoint == "", path+".endpoint", "Set the endpoint of the account, such as https://account.blob.core.windows.net.")
	out := f.location("azure", map[string]string{"bucket": s.Container, "key": s.Blob, "endpoint": s.Endpoint}, in, path)
	f.credential(out, "accountKeySecret", s.AccountKeySecret, path)
	return out
}

func (f *fileSources) gcs(s *gcsFile, in scope, path string) map[string]any {
	f.refuse(s.Bucket == "", path+".bucket", "Set the bucket.")
	f.refuse(s.Key == "", path+".key", "Set the object.")
	out := f.location("gcs", map[string]string{"bucket": s.Bucket, "key": s.Key}, in, path)
	f.credential(out, "serviceAccountKeySecret", s.ServiceAccountKey, path)
	return out
}

// location is where an object is; the engine replaces the tags in its texts.
func (f *fileSources) location(store string, texts map[string]string, in scope, path string) map[string]any {
	out := map[string]any{"store": store}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		f.checks.checkText(texts[name], in, path+"."+name)
		out[name] = texts[name]
	}
	return out
}

func (f *fileSources) keyPair(out map[string]any, access, secret *secretKey, path string) {
	f.refuse((access == nil) != (secret == nil), path, "Set both accessKeySecret and secretKeySecret, or neither for a public bucket.")
	f.credential(out, "accessKeySecret", access, path)
	f.credential(out, "secretKeySecret", secret, path)
}

// credential adds the name of the project's secret that has a credential.
func (f *fileSources) credential(out map[string]any, field string, ref *secretKey, path string) {
	if ref == nil {
		return
	}
	f.refuse(ref.Name == "" || ref.Key == "", path+"."+field, "Set the name and the key of the secret.")
	f.refuse(strings.Contains(ref.Name+ref.Key, "{{"), path+"."+field, "The name of a secret cannot contain tags.")
	out[field] = ref.Name + "." + ref.Key
}

// archiveOf is how the object of an artifact is packed.
func (f *fileSources) archiveOf(a artifact, path string) workflow.Archive {
	packed := workflow.Archive{Format: workflow.ArchiveTar}
	if a.Archive == nil {
		return packed
	}
	kinds := 0
	for _, is := range []bool{a.Archive.None != nil, a.Archive.Tar != nil, a.Archive.Zip != nil} {
		if is {
			kinds++
		}
	}
	f.refuse(kinds > 1, path+".archive", "Set one of none, tar and zip.")
	switch {
	case a.Archive.None != nil:
		packed.Format = workflow.ArchiveNone
	case a.Archive.Zip != nil:
		packed.Format = workflow.ArchiveZip
	case a.Archive.Tar != nil && a.Archive.Tar.CompressionLevel != nil:
		level := *a.Archive.Tar.CompressionLevel
		packed.Level = new(int32(level)) //nolint:gosec // checked below
		f.refuse(level < -1 || level > 9, path+".archive.tar.compressionLevel", "Set a level of gzip from -1 to 9.")
	}
	return packed
}

// bucketOutput makes an output that is also uploaded to a bucket.
func (f *fileSources) bucketOutput(o *workflow.OperatorOutput, a artifact, own scope, path string) {
	o.Bucket, o.Archive = f.bucketOf(a, own, path), f.archiveOf(a, path)
	private := a.HTTP != nil // its URL or its headers can also authorise the upload
	for _, field := range []string{"accessKeySecret", "accountKeySecret", "serviceAccountKeySecret", "passwordSecret"} {
		private = private || o.Bucket[field] != nil
	}
	f.refuse(!private, path, "Set the secrets with the credentials. FlowForge does not upload to public buckets.")
	key, _ := o.Bucket["key"].(string)
	f.refuse(strings.HasSuffix(key, "/") && o.Archive.Format != workflow.ArchiveNone, path,
		"Set the key of one object, because the output is uploaded as an archive; or set archive to none: {}.")
}
