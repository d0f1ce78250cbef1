package connection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/masking"
	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/bucket"
	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/data/outgoing"
	"github.com/flowforge/flowforge/db"
)

// testLimit is the time limit of one test.
const testLimit = 15 * time.Second

// maxAnswer is the maximum number of bytes that a test reads from a response.
const maxAnswer = 64 << 10

// maxMessage is the maximum size of one message from a database in bytes: pgx reserves as much
// memory as the server announces.
const maxMessage = 1 << 20

// Step is one part of a test.
type Step struct {
	Name   string // what was tried: "Connect to db.example.com:5432"
	OK     bool
	Detail string // what came back, or what failed and what to do
}

// Result is the result of a test. Its texts contain no value of a secret field.
type Result struct {
	OK       bool
	Steps    []Step
	Duration time.Duration
}

// Test tries a connection of the subject's current project from the server: it signs in and reads,
// and changes nothing there. A channel receives a test message. Errors: Conflict for a kind without a
// test. What fails is in the result.
func (s *Service) Test(ctx context.Context, name string) (Result, error) {
	subject, err := auth.Authorize(ctx, auth.SecretWrite)
	if err != nil {
		return Result{}, err
	}
	row, err := s.queries.GetConnection(ctx, subject.ProjectID, name)
	if db.IsNoRows(err) {
		return Result{}, absent(name)
	}
	if err != nil {
		return Result{}, fmt.Errorf("get connection %s: %w", name, err)
	}
	c, err := fromRow(row)
	if err != nil {
		return Result{}, err
	}
	if kind, _ := KindNamed(c.Kind); !kind.Tested {
		return Result{}, apperr.New(apperr.Conflict, "Connections of kind %s cannot be tested.", c.Kind)
	}
	secrets, err := s.unseal(row)
	if err != nil {
		return Result{}, err
	}
	result := s.try(ctx, c, secrets)
	err = db.Tx(ctx, s.Pool, func(_ pgx.Tx, q *db.Queries) error {
		if kind, _ := KindNamed(c.Kind); kind.Channel && result.OK {
			if err := s.Works(ctx, q, row.TenantID, row.ProjectID, name); err != nil {
				return err
			}
		}
		return audit.Record(ctx, q, entry("connection.test", secret.Owner{TenantID: row.TenantID, ProjectID: row.ProjectID}, name, nil, map[string]any{"ok": result.OK}))
	})
	if err != nil {
		return Result{}, fmt.Errorf("record the test of connection %s: %w", name, err)
	}
	return result, nil
}

// attempt is a test that runs. Its steps end with the first that fails.
type attempt struct {
	Connection
	secrets map[string]string
	dialer  Dialer
	masker  *masking.Masker
	at      time.Time
	steps   []Step
}

func (s *Service) try(ctx context.Context, c Connection, secrets map[string]string) Result {
	ctx, cancel := context.WithTimeout(ctx, testLimit)
	defer cancel()
	values := []string{}
	for _, value := range secrets {
		values = append(values, value)
	}
	started := s.Now()
	a := &attempt{Connection: c, secrets: secrets, dialer: s.Dialer, masker: masking.New(values...), at: started}
	if kind, _ := KindNamed(c.Kind); kind.Channel {
		a.channel(ctx)
	} else {
		map[string]func(context.Context){Postgres: a.postgres, ClickHouse: a.clickHouse, S3: a.s3, HTTP: a.http, HuggingFace: a.huggingFace}[c.Kind](ctx)
	}
	ok := !slices.ContainsFunc(a.steps, func(step Step) bool { return !step.OK })
	return Result{OK: ok, Steps: a.steps, Duration: s.Now().Sub(started)}
}

// step adds a step and reports whether it succeeded. Texts from outside are cut and masked.
func (a *attempt) step(name string, err error, detail string) bool {
	if err != nil {
		detail = reason(err)
	}
	a.steps = append(a.steps, Step{Name: a.text(name), OK: err == nil, Detail: a.text(detail)})
	return err == nil
}

func (a *attempt) text(text string) string {
	const most = 300
	text = a.masker.Text(strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " "))
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return text
}

// reach opens and closes a connection to host:port, so that the result distinguishes an
// unreachable server from refused credentials.
func (a *attempt) reach(ctx context.Context, address string) bool {
	conn, err := a.dialer.DialContext(ctx, "tcp", address)
	if err == nil {
		_ = conn.Close()
	}
	return a.step("Connect to "+address, err, "The server accepts connections.")
}

func (a *attempt) postgres(ctx context.Context) {
	address := net.JoinHostPort(strings.Trim(a.Text("host"), "[]"), a.Text("port"))
	if !a.reach(ctx, address) {
		return
	}
	config, err := pgx.ParseConfig(urlOf(a.Connection, a.secrets))
	if err != nil {
		a.step("Read the settings", errors.New("they do not form a valid database address"), "")
		return
	}
	config.DialFunc, config.ConnectTimeout = a.dialer.DialContext, testLimit
	config.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil } // DialContext checks the name
	config.Password = a.secrets["password"]                                                                   // none from a file of the server
	config.MaxProtocolMessageBodyLen = maxMessage
	config.RuntimeParams["default_transaction_read_only"] = "on"
	conn, err := pgx.ConnectConfig(ctx, config)
	if !a.step(fmt.Sprintf("Sign in as %s to the database %s", a.Text("user"), a.Text("database")), err, "The server accepted the credentials.") {
		return
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var version string
	err = conn.QueryRow(ctx, "SHOW server_version").Scan(&version)
	a.step("Run a query", err, "PostgreSQL "+version+".")
}

func (a *attempt) clickHouse(ctx context.Context) {
	query := url.Values{"query": {"SELECT version()"}, "database": {a.Text("database")}}
	target := strings.TrimSuffix(a.Text("endpoint"), "/") + "/?" + query.Encode()
	header := map[string]string{"X-ClickHouse-User": a.Text("user")}
	if password := a.secrets["password"]; password != "" {
		header["X-ClickHouse-Key"] = password
	}
	name := fmt.Sprintf("Run a query as %s in the database %s", a.Text("user"), a.Text("database"))
	a.request(ctx, target, header, name, func(status int, body []byte) (string, error) {
		if status == http.StatusOK {
			return "ClickHouse " + strings.TrimSpace(string(body)) + ".", nil
		}
		explanation, _, _ := strings.Cut(string(body), "\n")
		return "", answered(status, explanation)
	})
}

func (a *attempt) s3(ctx context.Context) {
	at := bucket.Location{
		Store: bucket.S3, Bucket: a.Text("bucket"), Key: strings.Trim(a.Text("prefix"), "/"), Endpoint: a.Text("endpoint"), Region: a.Text("region"),
		AccessKey: a.Text("access_key_id"), SecretKey: a.secrets["secret_access_key"], SessionToken: a.secrets["session_token"], Headers: true,
	}
	signed, err := at.Level(ctx, "", 1)
	if err != nil {
		a.step("Sign the request", err, "")
		return
	}
	a.request(ctx, signed.URL, signed.Header, "List the folder "+urlOf(a.Connection, nil), func(status int, body []byte) (string, error) {
		if status == http.StatusOK {
			return "The credentials can list it.", nil
		}
		code := between(string(body), "<Code>", "</Code>")
		return "", answered(status, map[string]string{
			"AccessDenied": "The credentials may not list this folder.", "NoSuchBucket": "The bucket does not exist.",
			"InvalidAccessKeyId": "The access key ID is unknown.", "SignatureDoesNotMatch": "The secret access key is wrong.",
			"ExpiredToken": "The session token has expired.", "PermanentRedirect": "The bucket is in another region.",
			"AuthorizationHeaderMalformed": "The bucket is in another region.",
		}[code])
	})
}

func between(text, begin, end string) string {
	_, rest, _ := strings.Cut(text, begin)
	inside, _, _ := strings.Cut(rest, end)
	return inside
}

func (a *attempt) http(ctx context.Context) {
	target := a.Text("base_url")
	if path := strings.TrimPrefix(a.Text("test_path"), "/"); path != "" {
		target = strings.TrimSuffix(target, "/") + "/" + path
	}
	header := map[string]string{}
	switch a.Text("authentication") {
	case Bearer:
		header["Authorization"] = "Bearer " + a.secrets["token"]
	case Basic:
		req := http.Request{Header: http.Header{}}
		req.SetBasicAuth(a.Text("username"), a.secrets["password"])
		header["Authorization"] = req.Header.Get("Authorization")
	case OAuth2:
		token := a.accessToken(ctx)
		if token == nil {
			return
		}
		header["Authorization"] = token.Type() + " " + token.AccessToken
	}
	a.request(ctx, target, header, "GET "+target, func(status int, _ []byte) (string, error) {
		if status < http.StatusBadRequest {
			return fmt.Sprintf("The server responded with %d %s.", status, http.StatusText(status)), nil
		}
		return "", answered(status, "")
	})
}

// accessToken requests a token with the client credentials; nil after an error.
func (a *attempt) accessToken(ctx context.Context) *oauth2.Token {
	config := clientcredentials.Config{
		ClientID: a.Text("client_id"), ClientSecret: a.secrets["client_secret"], TokenURL: a.Text("token_url"), Scopes: strings.Fields(a.Text("scope")),
	}
	if audience := a.Text("audience"); audience != "" {
		config.EndpointParams = url.Values{"audience": {audience}}
	}
	token, err := config.Token(context.WithValue(ctx, oauth2.HTTPClient, a.dialer.Client(testLimit)))
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.Response != nil {
		err = answered(refused.Response.StatusCode, strings.TrimSpace(refused.ErrorCode+" "+refused.ErrorDescription))
	}
	a.step("Access token from "+a.Text("token_url"), err, "The server issued an access token.")
	if err != nil {
		return nil
	}
	return token
}

func (a *attempt) huggingFace(ctx context.Context) {
	target := strings.TrimSuffix(a.Text("endpoint"), "/") + "/api/whoami-v2"
	header := map[string]string{"Authorization": "Bearer " + a.secrets["token"]}
	a.request(ctx, target, header, "GET "+target, func(status int, body []byte) (string, error) {
		if status != http.StatusOK {
			return "", answered(status, "")
		}
		var who struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(body, &who) != nil || who.Name == "" {
			return "", errors.New("the response does not come from the Hugging Face Hub; check the endpoint")
		}
		return "The token belongs to " + who.Name + ".", nil
	})
}

// request sends a GET request and passes the response to judge.
func (a *attempt) request(ctx context.Context, target string, header map[string]string, name string, judge func(status int, body []byte) (string, error)) {
	u, err := url.Parse(target)
	if err != nil {
		a.step(name, errors.New("the address cannot be read"), "")
		return
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if !a.reach(ctx, net.JoinHostPort(u.Hostname(), port)) {
		return
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		a.step(name, errors.New("the address cannot be read"), "")
		return
	}
	for key, value := range header {
		req.Header.Set(key, value)
	}
	res, err := a.dialer.Client(testLimit).Do(req)
	if err != nil {
		a.step(name, err, "")
		return
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		a.step(name, err, "")
		return
	}
	detail, err := judge(res.StatusCode, body)
	a.step(name, err, detail)
}

// answered is the error for a response with an unexpected status.
func answered(status int, explanation string) error {
	text := "the server responded with " + strconv.Itoa(status) + " " + http.StatusText(status) + "."
	switch {
	case explanation != "":
		text += " " + explanation
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		text += " Check the credentials and their permissions."
	case status == http.StatusNotFound:
		text += " Check the address."
	}
	return errors.New(strings.TrimSuffix(text, "."))
}

// reason describes an error in a sentence, without addresses that have queries and without texts
// from the configuration, both of which can contain secrets.
func reason(err error) string {
	text := err.Error()
	if of, ok := errors.AsType[*message.SendError](err); ok {
		return of.Reason
	}
	var timeout net.Error
	if of, ok := errors.AsType[*pgconn.PgError](err); ok {
		return "The server rejected the request: " + of.Message + "."
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		text = "The server does not accept the connection: " + innermost(err) + "."
	}
	if of, ok := errors.AsType[*url.Error](err); ok {
		text = "The request failed: " + of.Err.Error() + "."
	}
	_, dns := errors.AsType[*net.DNSError](err)
	switch {
	case errors.Is(err, outgoing.ErrRefused):
		return "The server does not connect to private and local addresses. An administrator can allow a host with FLOWFORGE_OUTGOING_HOSTS."
	case dns:
		return "The host name cannot be resolved. Check its spelling."
	case errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout():
		return "The server did not respond in time. Check the address, the port and the firewalls."
	}
	if of, ok := errors.AsType[*net.OpError](err); ok && of.Op == "dial" {
		return "The connection failed: " + innermost(err) + "."
	}
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}

// innermost is the text of the first cause.
func innermost(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}
