package handlers_test

import (
	"net/http"

	"github.com/google/uuid"
)

// accountRows are about the caller: every signed-in user has an account.
func accountRows() []row {
	const ok, absent = http.StatusOK, http.StatusNotFound
	some := uuid.NewString()
	return []row{
		public("GET /login/{provider}", "/login/none", "", absent),
		public("GET /login/{provider}/callback", "/login/none/callback", "", absent),
		page("/account", "/account", "").ofAccount(), page("/account/keys", "/account/keys", "").ofAccount(),
		form("/account/keys", "/account/keys", "name=ci&scope=read&expires_in_days=30", "", ok).ofAccount(),
		form("/account/keys/{id}/revoke", "/account/keys/nothing/revoke", "", "", absent).ofAccount(),
		form("/account/sessions/{id}/end", "/account/sessions/"+some+"/end", "", "", absent).ofAccount(),
		read("/me", "/me", ""), read("/keys", "/keys", "").ofAccount(), read("/sessions", "/sessions", "").ofAccount(),
		write("POST", "/keys", "/keys", `{"name": "ci", "scopes": ["read"]}`, "", http.StatusCreated).ofAccount(),
		write("DELETE", "/keys/{key_id}", "/keys/nothing", "", "", absent).ofAccount(),
		write("DELETE", "/sessions/{session_id}", "/sessions/"+some, "", "", absent).ofAccount(),
	}
}

// leavingRows end the sessions of their callers, and so come last of all.
func leavingRows() []row {
	const moved = http.StatusSeeOther
	return []row{
		form("/account/sessions/end", "/account/sessions/end", "", "", moved).ofAccount(),
		public("POST /logout", "/logout", "", moved),
	}
}
