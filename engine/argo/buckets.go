package argo

import "strings"

// outside reports whether an artifact of s3 is in a bucket outside of FlowForge's store.
func (s *s3File) outside() bool {
	return s.Bucket != "" || s.Endpoint != "" || s.AccessKeySecret != nil || s.SecretKeySecret != nil
}

// fetched reports whether an artifact has a source of its own, so that the launch does not
// provide it.
func (a artifact) fetched() bool {
	return a.Raw != nil || a.HTTP != nil || a.Git != nil || a.S3 != nil && a.S3.outside()
}

// bucket describes an object of a bucket. Its credentials are secrets of the project; a bucket
// without credentials is public.
func (t *translator) bucket(s *s3File, in scope, path string) map[string]any {
	out := map[string]any{"bucket": s.Bucket, "key": s.Key, "endpoint": s.Endpoint, "region": s.Region}
	t.refuse(s.Bucket == "", path+".bucket", "Name the bucket. A key without a bucket and an endpoint names a file of this execution.")
	t.refuse(s.Key == "" || strings.HasSuffix(s.Key, "/"), path+".key", "Name one object. Download a folder in a task.")
	for name, text := range map[string]string{"bucket": s.Bucket, "key": s.Key, "endpoint": s.Endpoint, "region": s.Region} {
		t.checkText(text, in, path+"."+name)
	}
	if s.Insecure {
		out["insecure"] = "true"
	}
	t.refuse((s.AccessKeySecret == nil) != (s.SecretKeySecret == nil), path, "Give both accessKeySecret and secretKeySecret, or neither for a public bucket.")
	for name, ref := range map[string]*secretKey{"accessKeySecret": s.AccessKeySecret, "secretKeySecret": s.SecretKeySecret, "sessionTokenSecret": s.SessionToken} {
		if ref == nil {
			continue
		}
		t.refuse(ref.Name == "" || ref.Key == "", path+"."+name, "Give the name and the key of the secret.")
		t.refuse(strings.Contains(ref.Name+ref.Key, "{{"), path+"."+name, "The name of a secret has no tags.")
		out[name] = ref.Name + "." + ref.Key
	}
	return out
}
