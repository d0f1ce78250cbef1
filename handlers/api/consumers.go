package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowforge/flowforge/engine/feed/consumer"
	"github.com/flowforge/flowforge/web/contract"
)

// ConsumerPath names a consumer of the feed.
type ConsumerPath struct {
	Name        string `path:"name" minLength:"1" maxLength:"100" doc:"Name of the consumer"`
	AllProjects bool   `query:"all_projects" doc:"True for a consumer of all projects, instead of the current project"`
}

func (p ConsumerPath) ref() consumer.Ref {
	return consumer.Ref{Name: p.Name, Installation: p.AllProjects}
}

type createConsumerInput struct {
	Body contract.EventConsumerInput
}

type readConsumerInput struct {
	ConsumerPath
	Body *contract.ReadEvents
}

type acknowledgeInput struct {
	ConsumerPath
	Body contract.AcknowledgeEvents
}

type failInput struct {
	ConsumerPath
	Body contract.FailEvents
}

type releaseInput struct {
	ConsumerPath
	Body contract.ReleaseEvents
}

type deadLettersQuery struct {
	ConsumerPath
	After string `query:"after" doc:"Cursor: next from the previous response" maxLength:"18" pattern:"^[0-9]*$"`
	Limit int    `query:"limit" doc:"Number of rows per page" minimum:"1" maximum:"1000" default:"100"`
}

type settleDeadInput struct {
	ConsumerPath
	Body *contract.SettleEvents
}

// ids are the selected dead letters; none means all.
func (in *settleDeadInput) ids() []string {
	if in.Body == nil {
		return nil
	}
	return in.Body.Events
}

// consumerAPI serves consumers of the feed and their dead letters.
type consumerAPI struct {
	Consumers *consumer.Service
}

func (h *consumerAPI) mount(api *operations) {
	const tag, one = "Events", "/events/consumers/{name}"
	operation(api, get("list-event-consumers", "/events/consumers", "List the consumers of the project, and those of all projects for administrators", tag), h.list)
	create := post("create-event-consumer", "/events/consumers", "Create a consumer", tag)
	create.DefaultStatus = http.StatusCreated
	operation(api, create, h.create)
	operation(api, get("get-event-consumer", one, "Get a consumer and its lag", tag), h.get)
	operation(api, huma.Operation{
		OperationID: "delete-event-consumer", Method: http.MethodDelete, Path: one, Tags: []string{tag},
		Summary: "Delete a consumer with its cursor and its dead letters", DefaultStatus: http.StatusNoContent,
	}, h.remove)
	read := post("read-events", one+"/read", "Lease the next events of a consumer", tag)
	read.Description = "Acknowledge each event before the lease expires. Otherwise, the events are delivered again. " +
		"An event of an execution waits while an earlier event of the same execution is leased to another reader or waits to be retried."
	operation(api, read, h.read)
	operation(api, post("acknowledge-events", one+"/acknowledge", "Acknowledge processed events, which moves the cursor", tag), h.acknowledge)
	fail := post("fail-events", one+"/fail", "Return events that could not be processed", tag)
	fail.Description = "They are delivered again after a delay, which doubles with each failure from 1 second to 5 minutes. After max_tries failures, they become dead letters."
	operation(api, fail, h.fail)
	operation(api, post("release-events", one+"/release", "End a lease: its events are delivered again immediately, without counting as failed", tag), h.release)
	operation(api, get("list-dead-events", one+"/dead-letters", "List the dead letters of a consumer, oldest event first", tag), h.deadLetters)
	operation(api, post("redeliver-dead-events", one+"/dead-letters/redeliver", "Deliver dead letters again", tag), h.redeliver)
	operation(api, post("discard-dead-events", one+"/dead-letters/discard", "Remove dead letters", tag), h.discard)
}

func (h *consumerAPI) list(ctx context.Context, _ *struct{}) (*body[contract.EventConsumerList], error) {
	list, err := h.Consumers.List(ctx)
	if err != nil {
		return nil, err
	}
	out := contract.EventConsumerList{Consumers: make([]contract.EventConsumer, 0, len(list))}
	for _, c := range list {
		out.Consumers = append(out.Consumers, toConsumer(c))
	}
	return reply(out), nil
}

func (h *consumerAPI) create(ctx context.Context, in *createConsumerInput) (*body[contract.EventConsumer], error) {
	b := in.Body
	c, err := h.Consumers.Create(ctx, consumer.Spec{
		Ref: consumer.Ref{Name: b.Name, Installation: b.AllProjects}, Topics: b.Topics, Types: b.Types, Start: b.Start, MaxTries: b.MaxTries,
	})
	if err != nil {
		return nil, err
	}
	return reply(toConsumer(c)), nil
}

func (h *consumerAPI) get(ctx context.Context, in *ConsumerPath) (*body[contract.EventConsumer], error) {
	c, err := h.Consumers.Get(ctx, in.ref())
	if err != nil {
		return nil, err
	}
	return reply(toConsumer(c)), nil
}

func (h *consumerAPI) remove(ctx context.Context, in *ConsumerPath) (*struct{}, error) {
	return nil, h.Consumers.Delete(ctx, in.ref())
}

func (h *consumerAPI) read(ctx context.Context, in *readConsumerInput) (*body[contract.EventLease], error) {
	var b consumer.Batch
	if in.Body != nil {
		b = consumer.Batch{Limit: in.Body.Limit, Lease: time.Duration(in.Body.LeaseSeconds) * time.Second, Wait: time.Duration(in.Body.WaitSeconds) * time.Second}
	}
	l, err := h.Consumers.Read(ctx, in.ref(), b)
	if err != nil {
		return nil, err
	}
	out := contract.EventLease{Events: make([]contract.LeasedEvent, 0, len(l.Events))}
	if len(l.Events) > 0 {
		out.Lease, out.ExpiresAt = &l.ID, &l.Until
	}
	for _, e := range l.Events {
		out.Events = append(out.Events, toLeasedEvent(e))
	}
	return reply(out), nil
}

func (h *consumerAPI) acknowledge(ctx context.Context, in *acknowledgeInput) (*body[contract.EventAnswer], error) {
	return answer(h.Consumers.Acknowledge(ctx, in.ref(), in.Body.Lease, in.Body.Events))
}

func (h *consumerAPI) fail(ctx context.Context, in *failInput) (*body[contract.EventAnswer], error) {
	return answer(h.Consumers.Fail(ctx, in.ref(), in.Body.Lease, consumer.Failure{Events: in.Body.Events, Reason: in.Body.Reason, Final: in.Body.Final}))
}

func (h *consumerAPI) release(ctx context.Context, in *releaseInput) (*body[contract.ReleasedEvents], error) {
	n, err := h.Consumers.Release(ctx, in.ref(), in.Body.Lease)
	if err != nil {
		return nil, err
	}
	return reply(contract.ReleasedEvents{Released: n}), nil
}

func (h *consumerAPI) deadLetters(ctx context.Context, in *deadLettersQuery) (*body[contract.DeadEventList], error) {
	page, err := h.Consumers.DeadLetters(ctx, in.ref(), in.After, in.Limit)
	if err != nil {
		return nil, err
	}
	out := contract.DeadEventList{Events: make([]contract.DeadEvent, 0, len(page.Letters)), Next: page.Next}
	for _, d := range page.Letters {
		out.Events = append(out.Events, contract.DeadEvent{LeasedEvent: toLeasedEvent(d), FailedAt: d.FailedAt, DeadAt: d.DeadAt})
	}
	return reply(out), nil
}

func (h *consumerAPI) redeliver(ctx context.Context, in *settleDeadInput) (*body[contract.EventAnswer], error) {
	return answer(h.Consumers.Redeliver(ctx, in.ref(), in.ids()))
}

func (h *consumerAPI) discard(ctx context.Context, in *settleDeadInput) (*body[contract.EventAnswer], error) {
	return answer(h.Consumers.Discard(ctx, in.ref(), in.ids()))
}

func answer(a consumer.Answer, err error) (*body[contract.EventAnswer], error) {
	if err != nil {
		return nil, err
	}
	return reply(contract.EventAnswer{Events: append([]string{}, a.Done...), Absent: append([]string{}, a.Absent...), DeadLetters: append([]string{}, a.Dead...)}), nil
}

func toLeasedEvent(d consumer.Delivery) contract.LeasedEvent {
	return contract.LeasedEvent{CloudEvent: d.CloudEvent(), Tries: d.Tries, LastError: d.Error}
}

func toConsumer(c consumer.Consumer) contract.EventConsumer {
	return contract.EventConsumer{
		Name: c.Name, AllProjects: c.Installation, Sink: c.Sink, Topics: c.Topics, Types: c.Types, MaxTries: c.MaxTries,
		Cursor: c.Cursor, Lag: c.Lag, LagMore: c.LagMore, OldestAt: c.Oldest, Taken: c.Taken, Failing: c.Failing, DeadLetters: c.DeadLetters, Stopped: c.Stopped(),
		Missed: c.Missed, Acknowledged: c.Acknowledged, AcknowledgedAt: c.AcknowledgedAt, ReadAt: c.ReadAt, Problem: c.Problem, ProblemAt: c.ProblemAt,
		CreatedBy: c.CreatedBy, CreatedAt: c.CreatedAt,
	}
}
