package handlers_test

import (
	"net/http"

	"github.com/flowforge/flowforge/access/auth"
)

// consumerRows are about the consumers of the feed. Callers see those of their own project.
func consumerRows() []row {
	const absent, invalid = http.StatusNotFound, http.StatusUnprocessableEntity
	const list, one, id = "/events/consumers", "/events/consumers/{name}", "/events/consumers/absent"
	const lease = `{"lease": "01900000-0000-7000-8000-00000000dead", "events": ["a"]}`
	return []row{
		read(list, list, auth.EventConsume), read(one, id, auth.EventConsume).answers(absent),
		write("POST", list, list, `{"name": "matrix", "types": ["A B"]}`, auth.EventConsume, invalid),
		write("DELETE", one, id, "", auth.EventConsume, absent),
		write("POST", one+"/read", id+"/read", `{}`, auth.EventConsume, absent),
		write("POST", one+"/acknowledge", id+"/acknowledge", lease, auth.EventConsume, absent),
		write("POST", one+"/fail", id+"/fail", lease, auth.EventConsume, absent),
		write("POST", one+"/release", id+"/release", `{"lease": "01900000-0000-7000-8000-00000000dead"}`, auth.EventConsume, absent),
		read(one+"/dead-letters", id+"/dead-letters", auth.EventConsume).answers(absent),
		write("POST", one+"/dead-letters/redeliver", id+"/dead-letters/redeliver", `{}`, auth.EventConsume, absent),
		write("POST", one+"/dead-letters/discard", id+"/dead-letters/discard", `{}`, auth.EventConsume, absent),
		page("/events", "/events", auth.ExecutionRead), page("/events/stream", "/events/stream?type=A", auth.ExecutionRead).answers(invalid),
		page("/events/new-consumer", "/events/new-consumer", auth.EventConsume), page(list, list, auth.EventConsume),
		form(list, list, "name=matrix&types=A+B", auth.EventConsume, invalid), page(one, id, auth.EventConsume).answers(absent),
		form(one+"/delete", id+"/delete", "", auth.EventConsume, absent), form(one+"/redeliver", id+"/redeliver", "", auth.EventConsume, absent),
		form(one+"/discard", id+"/discard", "event=a", auth.EventConsume, absent),
	}
}
