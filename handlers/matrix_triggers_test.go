package handlers_test

import (
	"net/http"

	"github.com/flowforge/flowforge/access/auth"
)

// triggerRows are about the feed of events and the triggers of the current project. Callers see those of their own project.
func triggerRows() []row {
	const absent, invalid = http.StatusNotFound, http.StatusUnprocessableEntity
	const one, delivery = "/triggers/{name}", "/triggers/{name}/deliveries/{delivery_id}/redeliver"
	const gone = "/triggers/absent/deliveries/01900000-0000-7000-8000-00000000dead/redeliver"
	return []row{
		read("/events", "/events", auth.ExecutionRead),
		read("/triggers", "/triggers", auth.ExecutionRead), read(one, "/triggers/absent", auth.ExecutionRead).answers(absent),
		write("PUT", one, "/triggers/matrix", `{"kind": "execution", "workflow": "absent", "sources": ["a"]}`, auth.ExecutionLaunch, invalid),
		write("DELETE", one, "/triggers/absent", "", auth.ExecutionLaunch, absent),
		write("POST", one+"/test", "/triggers/absent/test", `{"event": {}}`, auth.ExecutionRead, absent),
		read(one+"/deliveries", "/triggers/absent/deliveries", auth.ExecutionRead).answers(absent),
		write("POST", delivery, gone, "", auth.ExecutionLaunch, absent),
		write("POST", one+"/poll", "/triggers/absent/poll", "", auth.ExecutionLaunch, absent),
		read(one+"/joins", "/triggers/absent/joins", auth.ExecutionRead).answers(absent),
		page("/triggers", "/triggers", auth.ExecutionRead), page("/triggers/new", "/triggers/new", auth.ExecutionLaunch),
		form("/triggers", "/triggers", "kind=model&stages=production", auth.ExecutionLaunch, invalid),
		page(one, "/triggers/absent", auth.ExecutionRead).answers(absent), page(one+"/edit", "/triggers/absent/edit", auth.ExecutionRead).answers(absent),
		form(one, "/triggers/absent", "kind=execution&name=a", auth.ExecutionLaunch, absent),
		form(one+"/switch", "/triggers/absent/switch", "on=true", auth.ExecutionLaunch, absent),
		form(one+"/delete", "/triggers/absent/delete", "", auth.ExecutionLaunch, absent),
		form(one+"/poll", "/triggers/absent/poll", "", auth.ExecutionLaunch, absent),
		form(one+"/test", "/triggers/absent/test", "event={}", auth.ExecutionRead, absent),
		form("/triggers/{name}/deliveries/{delivery}/redeliver", gone, "", auth.ExecutionLaunch, absent),
	}
}
