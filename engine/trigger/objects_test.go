package trigger_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact/s3test"
	"github.com/flowforge/flowforge/engine/trigger"
)

// lake is a bucket on a real S3 server, with a connection of the same name.
type lake struct {
	*s3test.Server

	t      *testing.T
	client *s3.Client
	bucket string
}

func (b *bundle) lake() lake {
	b.t.Helper()
	l := lake{Server: s3test.Start(b.t, "lake"), t: b.t, bucket: "lake"}
	l.client = s3.New(s3.Options{Region: "us-east-1", BaseEndpoint: &l.Endpoint, UsePathStyle: true, Credentials: s3test.Credentials()})
	_, err := b.connections.Put(b.ctx, connection.Edit{Name: "lake", Kind: "s3", Create: true, Values: map[string]any{
		"bucket": "lake", "prefix": "raw", "endpoint": l.Endpoint, "access_key_id": s3test.AccessKey, "secret_access_key": s3test.SecretKey,
	}})
	require.NoError(b.t, err, "%v", apperr.FieldsOf(err))
	return l
}

func (l lake) write(key, text string) {
	l.t.Helper()
	_, err := l.client.PutObject(l.t.Context(), &s3.PutObjectInput{Bucket: &l.bucket, Key: &key, Body: strings.NewReader(text)})
	require.NoError(l.t, err)
}

func (l lake) remove(key string) {
	l.t.Helper()
	_, err := l.client.DeleteObject(l.t.Context(), &s3.DeleteObjectInput{Bucket: &l.bucket, Key: &key})
	require.NoError(l.t, err)
}

func onS3(name string) trigger.Spec {
	return trigger.Spec{Name: name, Kind: trigger.OnS3, S3: &trigger.S3Poll{Connection: "lake", Every: "10s"}, Inputs: map[string]any{"ref": "{{ object.key }} {{ object.change }}"}}
}

// refs are the inputs of the launched executions, newest first.
func (b *bundle) refs(name string) (out []string) {
	b.t.Helper()
	for _, d := range b.deliveries(name) {
		out = append(out, fmt.Sprint(b.inputsOf(d)["ref"]))
	}
	return out
}

func TestObjectsOfABucket(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := b.lake()
	l.write("raw/old.csv", "1")
	l.write("other/out.csv", "1")
	sp := onS3("files")
	sp.S3.Pattern = "*.csv"
	b.put(sp)
	b.poll(b.triggers)
	require.Empty(t, b.deliveries("files"), "what exists already is no event")
	require.Equal(t, "1 object", b.polls("files").Status)
	l.write("raw/2026/ä new+file.csv", "1")
	l.write("raw/2026/readme.txt", "1")
	l.write("other/more.csv", "1")
	b.poll(b.triggers)
	b.poll(b.triggers)
	require.Equal(t, []string{"raw/2026/ä new+file.csv new"}, b.refs("files"))
	l.write("raw/old.csv", "22")
	b.poll(b.triggers)
	require.Equal(t, "raw/old.csv changed", b.refs("files")[0])
	l.remove("raw/old.csv")
	b.poll(b.triggers)
	l.write("raw/old.csv", "22")
	b.poll(b.triggers)
	require.Equal(t, "raw/old.csv new", b.refs("files")[0], "an object that returns is new")
	require.Len(t, b.deliveries("files"), 3)

	sp.S3.Bucket, sp.Workflow = "absent", "retrain"
	_, err := b.triggers.Put(b.ctx, "files", sp)
	require.NoError(t, err)
	require.NoError(t, b.triggers.Switch(b.ctx, "files", true))
	b.poll(b.triggers)
	require.Contains(t, b.polls("files").Error, "The bucket absent cannot be listed")
}

// TestAConnectionToAnotherBucket: if the connection leads to other objects, the trigger starts over. Those that exist
// already are no events, and those with a known key are not changed ones.
func TestAConnectionToAnotherBucket(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l, other := b.lake(), s3test.Start(t, "lake", "archive")
	l.write("raw/old.csv", "1")
	sp := onS3("files")
	sp.S3.Existing = true
	b.put(sp)
	b.poll(b.triggers)
	require.Equal(t, []string{"raw/old.csv new"}, b.refs("files"))
	leads := func(to lake, prefix string) {
		t.Helper()
		_, err := b.connections.Put(b.ctx, connection.Edit{Name: "lake", Kind: "s3", Values: map[string]any{
			"bucket": to.bucket, "prefix": prefix, "endpoint": to.Endpoint, "access_key_id": s3test.AccessKey, "secret_access_key": s3test.SecretKey,
		}})
		require.NoError(t, err, "%v", apperr.FieldsOf(err))
	}
	at := func(bucket string) lake {
		to := lake{Server: other, t: t, bucket: bucket}
		to.client = s3.New(s3.Options{Region: "us-east-1", BaseEndpoint: &other.Endpoint, UsePathStyle: true, Credentials: s3test.Credentials()})
		to.write("raw/old.csv", "2")
		to.write("raw/older.csv", "2")
		to.write("more/older.csv", "2")
		return to
	}
	moved, archive := at("lake"), at("archive")
	launched := 1
	for _, step := range []struct {
		to     lake
		prefix string
	}{{moved, "raw"}, {archive, "raw"}, {archive, "more"}} {
		leads(step.to, step.prefix)
		b.poll(b.triggers)
		require.Empty(t, b.polls("files").Error)
		require.Len(t, b.deliveries("files"), launched, "what exists there already is no event")
		step.to.write(step.prefix+"/new.csv", "3")
		b.poll(b.triggers)
		require.Equal(t, step.prefix+"/new.csv new", b.refs("files")[0])
		launched++
		require.Len(t, b.deliveries("files"), launched)
	}
	leads(archive, "more")
	archive.write("more/newer.csv", "3")
	b.poll(b.triggers)
	require.Equal(t, "more/newer.csv new", b.refs("files")[0], "the connection leads to the same objects")
}

// TestObjectsOfManyPages: a list has several pages, and a turn delivers a part of the objects.
func TestObjectsOfManyPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := b.lake()
	const objects = 1010 // a page has 1000
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for n := worker; n < objects; n += 8 {
				l.write(fmt.Sprintf("raw/%04d", n), "1")
			}
		})
	}
	all.Wait()
	b.put(onS3("newer"))
	sp := onS3("files")
	sp.S3.Existing, sp.S3.Pattern = true, "raw/1*"
	b.put(sp)
	b.poll(b.triggers)
	require.Equal(t, "1,010 objects", b.polls("newer").Status)
	l.write("raw/2000", "1")
	b.poll(b.triggers)
	require.Len(t, b.deliveries("newer"), 1)
	require.Len(t, b.deliveries("files"), 10)

	sp = onS3("every")
	sp.S3.Existing, sp.S3.Pattern = true, "raw/00*"
	b.put(sp)
	l.write("raw/00xx", "1")
	b.poll(b.triggers)
	require.Len(t, b.deliveries("every"), 101, "one turn delivers 100, and the next one the rest")
	require.Equal(t, "101 objects, 1 new or changed", b.polls("every").Status)
}

// TestNoObjectIsLostOrDoubled: a server stops at any point of the second of three objects.
func TestNoObjectIsLostOrDoubled(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"poll.claimed", "poll.requested", "launch.begin", "launch.within", "launch.committed", "poll.done"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			l := b.lake()
			b.put(onS3("files"))
			b.poll(b.triggers)
			for _, key := range []string{"raw/a", "raw/b", "raw/c"} {
				l.write(key, "1")
			}
			config, reached := b.config, 0
			config.Crash = func(at string) {
				if at != point {
					return
				}
				if reached++; reached == 2 || strings.HasPrefix(point, "poll.") {
					panic(point)
				}
			}
			require.PanicsWithValue(t, point, func() { b.poll(trigger.New(config)) })
			b.poll(b.triggers)
			require.ElementsMatch(t, []string{"raw/a new", "raw/b new", "raw/c new"}, b.refs("files"))
			require.Equal(t, 3, b.executions())
		})
	}
}

// TestAListWithoutEnd: a store that repeats a page ends the turn with an error.
func TestAListWithoutEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`<ListBucketResult><Contents><Key>raw/a</Key><ETag>1</ETag></Contents><IsTruncated>true</IsTruncated><NextContinuationToken>again</NextContinuationToken></ListBucketResult>`))
	}))
	t.Cleanup(store.Close)
	_, err := b.connections.Put(b.ctx, connection.Edit{Name: "lake", Kind: "s3", Create: true, Values: map[string]any{
		"bucket": "lake", "endpoint": store.URL, "access_key_id": s3test.AccessKey, "secret_access_key": s3test.SecretKey,
	}})
	require.NoError(t, err, "%v", apperr.FieldsOf(err))
	b.put(onS3("files"))
	b.poll(b.triggers)
	require.Contains(t, b.polls("files").Error, "The store repeats pages in the list of the bucket lake")
}

// TestRunPolls: the loop polls by itself, and ends.
func TestRunPolls(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := b.lake()
	l.write("raw/a", "1")
	sp := onS3("files")
	sp.S3.Existing = true
	b.put(sp)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.triggers.Run(auth.AsSystem(ctx))
	}()
	b.eventually(func() bool { return len(b.deliveries("files")) == 1 })
	cancel()
	<-done
}
