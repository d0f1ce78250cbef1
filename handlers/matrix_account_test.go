package handlers_test

import (
	"net/http"

	"github.com/google/uuid"
)

// accountRows are about whoever asks: everybody who is signed in has an account.
func accountRows() []row {
	const ok, absent = http.StatusOK, http.StatusNotFound
	some := uuid.NewString()
	return []row{
		public("GET /login/{provider}", "/login/none", "", absent),
		public("GET /login/{provider}/callback", "/login/none/callback", "", absent),
		page("/account", "/account", ""), page("/account/keys", "/account/keys", ""),
		form("/account/keys", "/account/keys", "name=ci&scope=read&expires_in_days=30", "", ok),
		form("/account/keys/{id}/revoke", "/account/keys/nothing/revoke", "", "", absent),
		form("/account/sessions/{id}/end", "/account/sessions/"+some+"/end", "", "", absent),
		read("/me", "/me", ""), read("/keys", "/keys", ""), read("/sessions", "/sessions", ""),
		write("POST", "/keys", "/keys", `{"name": "ci", "scopes": ["read"]}`, "", http.StatusCreated),
		write("DELETE", "/keys/{key_id}", "/keys/nothing", "", "", absent),
		write("DELETE", "/sessions/{session_id}", "/sessions/"+some, "", "", absent),
	}
}

// leavingRows end the sessions of their callers, and so come last of all.
func leavingRows() []row {
	const moved = http.StatusSeeOther
	return []row{
		form("/account/sessions/end", "/account/sessions/end", "", "", moved),
		public("POST /logout", "/logout", "", moved),
	}
}
