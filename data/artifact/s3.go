package artifact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/flowforge/flowforge/apperr"
)

// S3Config identifies a bucket of an S3-compatible object store.
type S3Config struct {
	Bucket string
	Prefix string // of every key, without leading or trailing slash; "" is none
	// Endpoint is the store's address, such as https://minio.example.com; "" is AWS.
	Endpoint string
	// PublicEndpoint is the address in links for browsers; "" is Endpoint.
	PublicEndpoint string
	PathStyle      bool // the bucket is in the path, not in the host name
	// Credentials is nil for the SDK's own chain: AWS_* variables, web identity
	// (IRSA), the shared files, the machine's role.
	Credentials aws.CredentialsProvider
	Region      string // "" is the region of the chain, or us-east-1
	PartBytes   int    // part size of multipart uploads; 0 is 16 MiB, stores accept at least 5 MiB
	Now         func() time.Time
}

const (
	defaultPart    = 16 << 20
	partsAtOnce    = 3
	checkAbove     = 256 << 10 // size above which Put first checks whether the blob exists
	maxCopy        = 5 << 30   // maximum bytes that one request copies or puts
	presignedFor   = 15 * time.Minute
	incomingLives  = 24 * time.Hour // age at which incomplete uploads are removed
	incomingFolder = "incoming/"
)

// S3Store keeps blobs in an object store under prefix/data/ab/cd/<sha256>. Uploads with
// an unknown hash, and those of tasks, are under prefix/incoming/ until the hash is
// verified.
type S3Store struct {
	cfg     S3Config
	client  *s3.Client
	direct  *s3.PresignClient
	browser *s3.PresignClient
	plain   atomic.Bool // the store does not support conditional writes
}

// OpenS3 returns the store of cfg after writing and reading a small object there. Its
// errors name the invalid setting.
func OpenS3(ctx context.Context, cfg S3Config) (*S3Store, error) {
	if cfg.PartBytes == 0 {
		cfg.PartBytes = defaultPart
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Prefix = strings.Trim(cfg.Prefix, "/")
	loaded, err := config.LoadDefaultConfig(ctx, func(o *config.LoadOptions) error {
		o.Credentials, o.Region = cfg.Credentials, cfg.Region
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("the AWS_* settings are not valid: %w", err)
	}
	loaded.Region = cmp.Or(loaded.Region, "us-east-1")
	s := &S3Store{cfg: cfg}
	s.client = s.connect(loaded, cfg.Endpoint)
	s.direct = s3.NewPresignClient(s.client, s3.WithPresignExpires(presignedFor))
	s.browser = s3.NewPresignClient(s.connect(loaded, cmp.Or(cfg.PublicEndpoint, cfg.Endpoint)), s3.WithPresignExpires(presignedFor))
	return s, s.check(ctx)
}

func (s *S3Store) connect(c aws.Config, endpoint string) *s3.Client {
	return s3.NewFromConfig(c, func(o *s3.Options) {
		o.UsePathStyle = s.cfg.PathStyle
		if endpoint != "" {
			o.BaseEndpoint = aws.String(endpoint)
		}
		// We set SHA-256 checksums ourselves; other stores support no others.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		o.HTTPClient = awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
			t.MaxIdleConnsPerHost, t.ResponseHeaderTimeout = 64, time.Minute
		})
	})
}

// check writes and reads an object, like later operations.
func (s *S3Store) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	key := s.key(incomingFolder + "check")
	_, err := s.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &s.cfg.Bucket, Key: &key, Body: strings.NewReader("")})
	if err == nil {
		_, err = s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.cfg.Bucket, Key: &key})
	}
	place := "s3://" + s.cfg.Bucket
	switch code := codeOf(err); {
	case err == nil:
		return nil
	case code == "NoSuchBucket":
		return fmt.Errorf("FLOWFORGE_ARTIFACTS: there is no bucket %s at %s", s.cfg.Bucket, cmp.Or(s.cfg.Endpoint, "AWS"))
	case code == "InvalidAccessKeyId" || code == "SignatureDoesNotMatch":
		return fmt.Errorf("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not accepted by the artifact store %s (%s)", place, code)
	case statusOf(err) == http.StatusForbidden:
		return fmt.Errorf("FLOWFORGE_ARTIFACTS: the credentials may not write and read objects of %s (%s)", place, code)
	case statusOf(err) == http.StatusMovedPermanently || code == "AuthorizationHeaderMalformed":
		return fmt.Errorf("AWS_REGION: the bucket %s is in another region: %w", s.cfg.Bucket, err)
	case statusOf(err) == 0:
		return fmt.Errorf("FLOWFORGE_S3_ENDPOINT: the artifact store at %s is not responding, or there are no credentials (AWS_ACCESS_KEY_ID …): %w", cmp.Or(s.cfg.Endpoint, "AWS"), err)
	}
	return fmt.Errorf("FLOWFORGE_ARTIFACTS: %s cannot be used: %w", place, err)
}

func (s *S3Store) key(name string) string {
	if s.cfg.Prefix == "" {
		return name
	}
	return s.cfg.Prefix + "/" + name
}

// blobKey returns the key of the blob with a hash.
func (s *S3Store) blobKey(hash string) (string, error) {
	if err := checkHash(hash); err != nil {
		return "", err
	}
	return s.key("data/" + hash[:2] + "/" + hash[2:4] + "/" + hash), nil
}

// Ready returns nil when the store responds.
func (s *S3Store) Ready(ctx context.Context) error {
	key := s.key(incomingFolder + "check")
	_, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.cfg.Bucket, Key: &key})
	if statusOf(err) == http.StatusNotFound { // the object was deleted, but the store responds
		return nil
	}
	return storeError(err)
}

func codeOf(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	return ""
}

// statusOf returns the HTTP status of the store's answer; 0 without an answer.
func statusOf(err error) int {
	if answer, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		return answer.HTTPStatusCode()
	}
	return 0
}

// storeError classifies an error of the store. Rejections, such as of our credentials,
// may be fixed by an operator, so they can be retried as well.
func storeError(err error) error {
	_, described := errors.AsType[*apperr.Error](err)
	switch {
	case err == nil, described, errors.Is(err, context.Canceled):
		return err
	case statusOf(err) == http.StatusForbidden:
		return apperr.Wrap(apperr.Unavailable, err, "The artifact store rejects the server's credentials.")
	}
	return apperr.Wrap(apperr.Unavailable, err, "The artifact store is not responding. Try again in a moment.")
}
