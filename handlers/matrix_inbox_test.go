package handlers_test

import (
	"net/http"

	"github.com/google/uuid"
)

// inboxRows are about the caller's own notifications: every signed-in user has an inbox, and no one sees
// an item of another.
func inboxRows() []row {
	const absent, moved = http.StatusNotFound, http.StatusSeeOther
	some := "/inbox/" + uuid.NewString()
	return []row{
		read("/inbox", "/inbox", ""), read("/inbox/{item_id}", some, "").answers(absent), read("/inbox/settings", "/inbox/settings", ""),
		write("POST", "/inbox/{item_id}/read", some+"/read", "", "", absent), write("POST", "/inbox/{item_id}/unread", some+"/unread", "", "", absent),
		write("POST", "/inbox/read", "/inbox/read", "{}", "", http.StatusOK), write("PUT", "/inbox/settings", "/inbox/settings", "{}", "", http.StatusOK),
		page("/inbox", "/inbox", ""), page("/inbox/stream", "/inbox/stream", ""), page("/inbox/bell", "/inbox/bell", ""), page("/inbox/bell/stream", "/inbox/bell/stream", ""),
		form("/inbox/read", "/inbox/read", "up_to="+uuid.NewString(), "", moved), form("/inbox/mute", "/inbox/mute", "name=tour.matrix", "", moved),
		form("/inbox/{item}/read", some+"/read", "", "", absent), form("/inbox/{item}/unread", some+"/unread", "", "", absent),
		page("/account/notifications", "/account/notifications", ""), form("/account/notifications", "/account/notifications", "digest=hourly", "", moved),
	}
}
