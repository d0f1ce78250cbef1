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
	Condition string // of a join; "": the trigger itself waits for webhooks

	Header http.Header
	Query  url.Values
	Body   []byte // at most MaxPayload
}

func absentHook() error { return apperr.New(apperr.NotFound, "There is no webhook at this address.") }

// hook is a trigger on webhooks, or a condition of a join on webhooks.
type hook struct {
	*Service

	row       db.Trigger
	join      *Join // nil: the trigger itself receives the events
	condition Condition
}

// Receive checks the signature of a request, and delivers its event or adds it to a join. The sender
// needs no account. An event that was received before is not delivered again. Errors: NotFound, Conflict
// for a trigger that is off, Unauthenticated for a wrong signature, Invalid for a body that is not
// JSON. Other errors mean that the sender should repeat the request.
func (s *Service) Receive(ctx context.Context, id uuid.UUID, r Request) (Delivery, error) {
	ctx = auth.AsSystem(ctx)
	row, err := s.queries.GetTrigger(ctx, id)
	if db.IsNoRows(err) {
		return Delivery{}, absentHook()
	}
	if err != nil {
		return Delivery{}, fmt.Errorf("get trigger %s: %w", id, err)
	}
	t, err := triggerOf(row)
	if err != nil {
		return Delivery{}, err
	}
	condition, ok := t.condition(r.Condition)
	if !ok || condition.Kind != OnWebhook {
		return Delivery{}, absentHook()
	}
	return hook{s, row, t.Join, condition}.receive(ctx, r)
}

func (h hook) receive(ctx context.Context, r Request) (Delivery, error) {
	problem, err := h.authentic(ctx, r)
	if err != nil {
		return Delivery{}, err
	}
	if problem != "" {
		return Delivery{}, h.reject(ctx, r, problem)
	}
	if !h.row.Enabled {
		return Delivery{}, apperr.New(apperr.Conflict, "The trigger %s is off.", h.row.Name)
	}
	key := eventID(h.condition.Signature, r.Header)
	if key == "" {
		key = "received/" + uuid.Must(uuid.NewV7()).String()
	}
	ev := h.event(key, r)
	if r.Header.Get("X-Github-Event") == "ping" {
		return h.skipPing(ctx, ev)
	}
	if ev.env, err = webhookEnv(r); err != nil {
		return Delivery{}, err
	}
	if h.join == nil {
		return h.deliver(ctx, h.row, ev)
	}
	a, err := joining{h.Service}.join(ctx, h.row, h.join, h.condition, ev, h.now())
	if err != nil {
		return Delivery{}, err
	}
	return joining{h.Service}.result(ctx, h.row, ev, a)
}

// event is the event of a request. Keys of conditions have a prefix, so that the ID of a sender is no key
// of a join.
func (h hook) event(key string, r Request) event {
	ev := event{key: key, subject: subjectOf(r.Header), depth: 1}
	if h.join != nil {
		ev.key = "hook/" + key
		return ev.of(h.condition)
	}
	return ev
}

// authentic returns why a request does not prove that its sender knows the secret, or "" if it
// does. No error tells the sender about the secret or its store.
func (h hook) authentic(ctx context.Context, r Request) (string, error) {
	secret, err := h.config.Secrets.Reveal(ctx, h.row.ProjectID, h.condition.Secret)
	if apperr.Is(err, apperr.NotFound) || err == nil && secret == "" {
		return fmt.Sprintf("The project has no secret %q with a value.", h.condition.Secret), nil
	}
	if apperr.Is(err, apperr.Conflict) { // its store has no value
		return apperr.MessageOf(err), nil
	}
	if err != nil {
		err = fmt.Errorf("read the secret of trigger %s: %w", h.row.ID, err)
		return "", apperr.Wrap(apperr.Unavailable, err, "FlowForge cannot read the secret of this webhook. Send the request again later.")
	}
	return verify(h.condition.Signature, secret, r.Header, r.Body, h.now()), nil
}

// reject records a request with a wrong signature. The sender does not learn the details.
func (h hook) reject(ctx context.Context, r Request, problem string) error {
	ev := h.event("rejected/"+uuid.Must(uuid.NewV7()).String(), r)
	if err := h.record(ctx, h.queries, h.row, ev, decision{outcome: Rejected, reason: ReasonSignature, message: problem}, nil); err != nil {
		return err
	}
	if _, err := h.recorded(ctx, h.row.ID, ev.key); err != nil {
		return err
	}
	return apperr.New(apperr.Unauthenticated, "The signature of the request is missing or wrong. The page of the trigger shows the reason.")
}

// skipPing records GitHub's test of a new webhook.
func (h hook) skipPing(ctx context.Context, ev event) (Delivery, error) {
	err := h.record(ctx, h.queries, h.row, ev, decision{outcome: Skipped, reason: ReasonPing, message: "GitHub sent a test request. Its signature is valid."}, nil)
	if err != nil && !isRepeated(err) {
		return Delivery{}, err
	}
	return h.recorded(ctx, h.row.ID, ev.key)
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
