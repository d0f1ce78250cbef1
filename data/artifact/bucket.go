package artifact

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// BucketObject is an object of an S3-compatible store outside of FlowForge.
type BucketObject struct {
	Bucket, Key string
	Endpoint    string // such as minio.example.com:9000; "" is AWS
	Region      string // "" is us-east-1
	Insecure    bool   // an endpoint without a scheme is an http address

	// AccessKey and SecretKey are empty for a public bucket.
	AccessKey, SecretKey, SessionToken string
}

// objectLinkFor is how long a link to an object is valid: an attempt may pull an image first.
const objectLinkFor = 6 * time.Hour

// Link returns an address from which anyone can download the object for six hours. It sends
// no request.
func (o BucketObject) Link(ctx context.Context) (string, error) {
	endpoint, err := o.address()
	if err != nil {
		return "", err
	}
	client := s3.New(s3.Options{
		Region:       cmp.Or(o.Region, "us-east-1"),
		BaseEndpoint: endpoint,
		UsePathStyle: endpoint != nil, // AWS has the bucket in the host name
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: o.AccessKey, SecretAccessKey: o.SecretKey, SessionToken: o.SessionToken}, nil
		}),
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	})
	if o.AccessKey == "" { // sign with anything, and take the signature away
		o.AccessKey, o.SecretKey = "anonymous", "anonymous"
		signed, err := o.Link(ctx)
		link, _, _ := strings.Cut(signed, "?")
		return link, err
	}
	signed, err := s3.NewPresignClient(client).PresignGetObject(ctx, &s3.GetObjectInput{Bucket: &o.Bucket, Key: &o.Key}, s3.WithPresignExpires(objectLinkFor))
	if err != nil {
		return "", fmt.Errorf("the link to s3://%s/%s cannot be made: %w", o.Bucket, o.Key, err)
	}
	return signed.URL, nil
}

// address is the endpoint with its scheme; nil is AWS.
func (o BucketObject) address() (*string, error) {
	host := strings.TrimSuffix(o.Endpoint, "/")
	if host == "" || host == "s3.amazonaws.com" {
		return nil, nil //nolint:nilnil // the SDK knows the addresses of AWS
	}
	if !strings.Contains(host, "://") {
		scheme := "https://"
		if o.Insecure {
			scheme = "http://"
		}
		host = scheme + host
	}
	parsed, err := url.Parse(host)
	if err != nil || parsed.Host == "" {
		return nil, fmt.Errorf("the endpoint %q is not an address, such as minio.example.com:9000", o.Endpoint)
	}
	return &host, nil
}
