package trigger

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/bucket"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/platform/units"
)

// maxListPage bounds the response of a store to a request for a page of a list.
const maxListPage = 16 << 20

// maxListPages bounds the pages of a list, which have 1000 objects on most stores.
const maxListPages = 100_000

// s3 lists a bucket page by page. Each new or changed object is stored in the transaction that
// launches for it.
func (p *poll) s3(ctx context.Context) (found, error) {
	at, prefix, err := p.bucket(ctx)
	if err != nil {
		return found{}, err
	}
	if err := p.visit(ctx, at, prefix); err != nil {
		return found{}, err
	}
	seed, seen, markers := maphash.MakeSeed(), map[uint64]struct{}{}, map[uint64]struct{}{}
	events := 0
	for marker := ""; ; {
		page, err := p.list(ctx, at, prefix, marker)
		if err != nil {
			return found{}, err
		}
		p.config.Crash("poll.requested")
		// A page without new objects prolongs the turn, too: a long list takes more time than the lease.
		held, err := p.queries.HoldPoll(ctx, new(p.now().Add(pollLease)), p.row.ID, p.state.Condition, p.state.Turn)
		if err := settled(held, err); err != nil {
			return found{}, err
		}
		page.Objects, err = p.matching(page.Objects)
		if err != nil {
			return found{}, err
		}
		for _, o := range page.Objects {
			seen[maphash.String(seed, o.Key)] = struct{}{}
		}
		if len(seen) > MaxObjects {
			return found{}, apperr.New(apperr.Unavailable, "More than %s objects match. Choose a longer prefix or a narrower pattern.", units.Number(MaxObjects))
		}
		n, err := p.note(ctx, at, page.Objects, pollEvents-events)
		if events += n; err != nil {
			return found{}, err
		}
		if events >= pollEvents {
			return found{status: fmt.Sprintf("%s so far", units.Plural(events, "new object", "new objects")), more: true}, nil
		}
		if marker = page.Next; marker == "" {
			break
		}
		mark := maphash.String(seed, marker)
		if _, again := markers[mark]; again {
			return found{}, apperr.New(apperr.Unavailable, "The store repeats pages in the list of the bucket %s, so the list has no end.", at.Bucket)
		}
		if markers[mark] = struct{}{}; len(markers) == maxListPages {
			return found{}, apperr.New(apperr.Unavailable, "The list of the bucket %s has more than %s pages. Choose a longer prefix.", at.Bucket, units.Number(maxListPages))
		}
	}
	if err := p.forget(ctx, seed, seen); err != nil {
		return found{}, err
	}
	status := units.Plural(len(seen), "object", "objects")
	if events > 0 {
		status += ", " + units.Number(int64(events)) + " new or changed"
	}
	return found{status: status}, nil
}

// matching returns the objects that match the pattern, without those that represent folders.
func (p *poll) matching(list []bucket.Object) ([]bucket.Object, error) {
	pattern := p.condition.S3.Pattern
	out := list[:0]
	for _, o := range list {
		if strings.HasSuffix(o.Key, "/") || !utf8.ValidString(o.Key) || strings.ContainsRune(o.Key, 0) {
			continue
		}
		name := o.Key
		if !strings.Contains(pattern, "/") {
			name = path.Base(o.Key)
		}
		ok, err := path.Match(cmp.Or(pattern, "*"), name)
		if err != nil {
			return nil, apperr.New(apperr.Invalid, "The pattern %q is not valid.", pattern)
		}
		if ok {
			out = append(out, o)
		}
	}
	return out, nil
}

// note delivers the new and changed objects of a page, at most limit, and returns their number.
// If existing objects cause no events, it only stores the first complete list.
func (p *poll) note(ctx context.Context, at bucket.Location, list []bucket.Object, limit int) (int, error) {
	keys := make([]string, len(list))
	for i, o := range list {
		keys[i] = o.Key
	}
	rows, err := p.queries.KnownObjects(ctx, p.row.ID, p.state.Condition, keys)
	if err != nil {
		return 0, fmt.Errorf("objects of trigger %s: %w", p.row.ID, err)
	}
	known := make(map[string]string, len(rows))
	for _, row := range rows {
		known[row.Key] = row.Etag
	}
	var fresh []bucket.Object
	for _, o := range list {
		if etag, ok := known[o.Key]; !ok || etag != o.ETag {
			fresh = append(fresh, o)
		}
	}
	if p.state.Baseline {
		err := db.Tx(ctx, p.config.Pool, func(_ pgx.Tx, q *db.Queries) error { return p.keep(ctx, q, fresh...) })
		return 0, err
	}
	for i, o := range fresh {
		if i == limit {
			return i, nil
		}
		_, existed := known[o.Key]
		if err := p.pass(ctx, p.objectEvent(at, o, existed)); err != nil {
			return i, err
		}
	}
	return len(fresh), nil
}

// keep stores objects, unless another server has claimed the trigger.
func (p *poll) keep(ctx context.Context, q *db.Queries, list ...bucket.Object) error {
	n, err := q.HoldPoll(ctx, new(p.now().Add(pollLease)), p.row.ID, p.state.Condition, p.state.Turn)
	if err := settled(n, err); err != nil {
		return err
	}
	keys, etags := make([]string, len(list)), make([]string, len(list))
	for i, o := range list {
		keys[i], etags[i] = o.Key, o.ETag
	}
	return wrap("note the objects of a trigger", q.NoteObjects(ctx, p.row.ID, p.state.Condition, keys, etags))
}

func (p *poll) objectEvent(at bucket.Location, o bucket.Object, existed bool) event {
	sum := sha256.Sum256([]byte(o.Key + "\x00" + o.ETag))
	change := map[bool]string{true: "changed", false: "new"}[existed]
	return event{
		key: fmt.Sprintf("object/%s/%d/%s", p.state.Epoch, p.state.Turn, hex.EncodeToString(sum[:])), subject: o.Key, depth: 1,
		env: map[string]any{"object": map[string]any{
			"key": o.Key, "name": path.Base(o.Key), "bucket": at.Bucket, "uri": "s3://" + at.Bucket + "/" + o.Key,
			"size": o.Size, "etag": o.ETag, "modified": o.LastModified.UTC().Format(time.RFC3339Nano), "change": change,
		}},
		within: func(ctx context.Context, q *db.Queries) error { return p.keep(ctx, q, o) },
	}
}

// forget removes objects that a complete list no longer contains, so that they are new when they
// return.
func (p *poll) forget(ctx context.Context, seed maphash.Seed, seen map[uint64]struct{}) error {
	known, err := p.queries.CountObjects(ctx, p.row.ID, p.state.Condition)
	if err != nil {
		return fmt.Errorf("count the objects of trigger %s: %w", p.row.ID, err)
	}
	if int(known) <= len(seen) {
		return nil
	}
	const chunk = 1000
	for after := ""; ; {
		keys, err := p.queries.ObjectKeys(ctx, p.row.ID, p.state.Condition, after, chunk)
		if err != nil {
			return fmt.Errorf("objects of trigger %s: %w", p.row.ID, err)
		}
		var gone []string
		for _, key := range keys {
			if _, ok := seen[maphash.String(seed, key)]; !ok {
				gone = append(gone, key)
			}
		}
		err = db.Tx(ctx, p.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
			if err := p.keep(ctx, q); err != nil {
				return err
			}
			return wrap("forget the objects of a trigger", q.ForgetObjects(ctx, p.row.ID, p.state.Condition, gone))
		})
		if err != nil || len(keys) < chunk {
			return err
		}
		after = keys[len(keys)-1]
	}
}

// bucket returns the bucket to list with the credentials of the connection, and the prefix of the keys.
func (p *poll) bucket(ctx context.Context) (bucket.Location, string, error) {
	b := p.condition.S3
	c, err := p.connection(ctx, connection.S3, b.Connection)
	if err != nil {
		return bucket.Location{}, "", err
	}
	prefix := b.Prefix
	if folder := strings.Trim(c.text("prefix"), "/"); prefix == "" && folder != "" && b.Bucket == "" {
		prefix = folder + "/"
	}
	return bucket.Location{
		Store: bucket.S3, Bucket: cmp.Or(b.Bucket, c.text("bucket")), Endpoint: c.text("endpoint"), Region: c.text("region"),
		AccessKey: c.text("access_key_id"), SecretKey: c.secrets["secret_access_key"], SessionToken: c.secrets["session_token"], Headers: true,
	}, prefix, nil
}

// list requests a page of the objects whose keys begin with a prefix.
func (p *poll) list(ctx context.Context, at bucket.Location, prefix, marker string) (bucket.Page, error) {
	signed, err := at.Keys(ctx, prefix, marker, 0)
	if err != nil {
		return bucket.Page{}, err
	}
	req, err := http.NewRequestWithContext(ctx, signed.Method, signed.URL, nil)
	if err != nil {
		return bucket.Page{}, apperr.New(apperr.Invalid, "The endpoint of the connection cannot be read.")
	}
	for name, value := range signed.Header {
		req.Header.Set(name, value)
	}
	res, err := p.config.Dialer.Client(pollLimit).Do(req)
	if err != nil {
		return bucket.Page{}, unreachable(signed.URL, err)
	}
	defer func() { _ = res.Body.Close() }() // only read
	body := io.LimitReader(res.Body, maxListPage)
	if res.StatusCode != http.StatusOK {
		return bucket.Page{}, refusedList(at, res.StatusCode, body)
	}
	page, err := bucket.ReadPage(body)
	if err != nil {
		return bucket.Page{}, apperr.Wrap(apperr.Unavailable, err, fmt.Sprintf("%s sent a response that is not a list of objects. Check the endpoint of the connection.", shortAddress(signed.URL)))
	}
	return page, nil
}

// refusedList is the error of a store that does not list a bucket.
func refusedList(at bucket.Location, status int, body io.Reader) error {
	var answer struct{ Code string }
	_ = xml.NewDecoder(body).Decode(&answer) // not every store explains itself
	explanation := map[string]string{
		"AccessDenied": "The credentials may not list the bucket.", "NoSuchBucket": "The bucket does not exist.",
		"InvalidAccessKeyId": "The access key ID is unknown.", "SignatureDoesNotMatch": "The secret access key is wrong.",
		"ExpiredToken": "The session token has expired.", "PermanentRedirect": "The bucket is in another region.",
		"AuthorizationHeaderMalformed": "The bucket is in another region.",
	}[answer.Code]
	if explanation == "" {
		explanation = "Test the connection on its page."
	}
	return apperr.New(apperr.Unavailable, "The bucket %s cannot be listed: the store responded with %s. %s", at.Bucket, statusText(status), explanation)
}
