package trigger

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Request is a request to the endpoint of a webhook.
type Request struct {
	Header http.Header
	Query  url.Values
	Body   []byte // at most MaxPayload
}

func absentHook() error { return apperr.New(apperr.NotFound, "There is no webhook at this address.") }

// Receive checks the signature of a request and delivers its event. The sender needs no account.
// An event that was received before is not delivered again. Errors: NotFound, Conflict for a
// trigger that is off, Unauthenticated for a wrong signature, Invalid for a body that is not
// JSON. Other errors mean that the sender should repeat the request.
func (s *Service) Receive(ctx context.Context, id uuid.UUID, r Request) (Delivery, error) {
	ctx = auth.AsSystem(ctx)
	row, err := s.queries.GetTrigger(ctx, id)
	if db.IsNoRows(err) || err == nil && Kind(row.Kind) != OnWebhook {
		return Delivery{}, absentHook()
	}
	if err != nil {
		return Delivery{}, fmt.Errorf("get trigger %s: %w", id, err)
	}
	problem, err := s.authentic(ctx, row, r)
	if err != nil {
		return Delivery{}, err
	}
	if problem != "" {
		return Delivery{}, s.reject(ctx, row, r, problem)
	}
	if !row.Enabled {
		return Delivery{}, apperr.New(apperr.Conflict, "The trigger %s is off.", row.Name)
	}
	key := eventID(Signature(row.Signature), r.Header)
	if key == "" {
		key = "received/" + uuid.Must(uuid.NewV7()).String()
	}
	ev := event{key: key, subject: subjectOf(r.Header), depth: 1}
	if r.Header.Get("X-Github-Event") == "ping" {
		return s.skipPing(ctx, row, ev)
	}
	if ev.env, err = webhookEnv(r); err != nil {
		return Delivery{}, err
	}
	return s.deliver(ctx, row, ev)
}

// authentic returns why a request does not prove that its sender knows the secret, or "" if it
// does.
func (s *Service) authentic(ctx context.Context, row db.Trigger, r Request) (string, error) {
	secret, err := s.config.Secrets.Reveal(ctx, row.ProjectID, row.Secret)
	if apperr.Is(err, apperr.NotFound) || err == nil && secret == "" {
		return fmt.Sprintf("The project has no secret %q with a value.", row.Secret), nil
	}
	if err != nil {
		return "", fmt.Errorf("read the secret of trigger %s: %w", row.ID, err)
	}
	return verify(Signature(row.Signature), secret, r.Header, r.Body, s.now()), nil
}

// reject records a request with a wrong signature. The sender does not learn the details.
func (s *Service) reject(ctx context.Context, row db.Trigger, r Request, problem string) error {
	ev := event{key: "rejected/" + uuid.Must(uuid.NewV7()).String(), subject: subjectOf(r.Header), depth: 1}
	if err := s.record(ctx, s.queries, row, ev, decision{outcome: Rejected, reason: ReasonSignature, message: problem}, nil); err != nil {
		return err
	}
	if _, err := s.recorded(ctx, row.ID, ev.key); err != nil {
		return err
	}
	return apperr.New(apperr.Unauthenticated, "The signature of the request is missing or wrong. The page of the trigger shows the reason.")
}

// skipPing records GitHub's test of a new webhook.
func (s *Service) skipPing(ctx context.Context, row db.Trigger, ev event) (Delivery, error) {
	err := s.record(ctx, s.queries, row, ev, decision{outcome: Skipped, reason: ReasonPing, message: "GitHub sent a test request. Its signature is valid."}, nil)
	if err != nil && !isRepeated(err) {
		return Delivery{}, err
	}
	return s.recorded(ctx, row.ID, ev.key)
}

// subjectOf describes the event of a request in a few words.
func subjectOf(h http.Header) string {
	for _, name := range []string{"X-Github-Event", "X-Gitlab-Event", "Ce-Type", "Webhook-Event"} {
		if v := strings.TrimSpace(h.Get(name)); v != "" {
			return storable(v[:min(len(v), 100)])
		}
	}
	return "webhook"
}

// webhookEnv returns the values of a request that expressions can read.
func webhookEnv(r Request) (map[string]any, error) {
	var payload any
	if len(r.Body) > 0 {
		if err := decode(r.Body, &payload); err != nil {
			return nil, apperr.New(apperr.Invalid, "The body is not JSON. Set the content type of the webhook to application/json.")
		}
	}
	if strings.Contains(string(r.Body), `\u0000`) {
		return nil, apperr.New(apperr.Invalid, "The body contains the character NUL, which cannot be stored.")
	}
	headers, query := map[string]any{}, map[string]any{}
	for name, values := range r.Header {
		if name = strings.ToLower(name); !secretHeader(name) {
			headers[name] = storable(strings.Join(values, ", "))
		}
	}
	for name, values := range r.Query {
		query[storable(name)] = storable(strings.Join(values, ","))
	}
	return map[string]any{"payload": payload, "headers": headers, "query": query}, nil
}

// storable is a text without what Postgres cannot store.
func storable(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "")
}
