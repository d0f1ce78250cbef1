package admin

import (
	"strings"
)

// actionText describes what an action did to the object whose name follows it.
func actionText(action string) string {
	special := map[string]string{
		"member.add": "added a member to", "member.change": "changed a role in", "member.remove": "removed a member from",
		"group.invite": "added a group to", "group.remove": "removed a group from",
		"quota.update": "changed the limits of", "user.make_admin": "granted administrator rights to", "user.remove_admin": "revoked administrator rights of",
		"session.begin": "signed in", "session.end": "signed out", "session.end_all": "signed out everywhere", "login_link.create": "issued a login link",
		"execution.keep": "kept", "execution.release": "stopped keeping", "execution.expire": "removed the expired",
		"event_consumer.redeliver": "redelivered dead letters of", "event_consumer.discard": "discarded dead letters of",
		"pool.access": "changed access to", "pool.limit": "changed a limit of", "pool.drain": "changed the drain of", "pool.drain_worker": "changed the drain of a worker of", "pool.create_token": "created a token of", "pool.revoke_token": "revoked a token of",
		"pool.stall": "has tasks that wait without a worker of", "pool.recover": "has no more tasks that wait without a worker of",
		"channel.fail": "could not send messages to", "channel.recover": "sends messages again to",
		"catalogue.register": "registered", "workflow.register": "registered a version of",
	}
	if words, ok := special[action]; ok {
		return words
	}
	_, verb, ok := strings.Cut(action, ".")
	if !ok {
		verb = action
	}
	past := map[string]string{
		"create": "created", "update": "changed", "archive": "archived", "unarchive": "restored", "restore": "restored", "delete": "deleted",
		"replace": "replaced", "register": "registered", "launch": "launched", "cancel": "cancelled", "upload": "uploaded", "change": "changed", "use": "used", "test": "tested", "disable": "disabled",
		"enable": "enabled", "revoke": "revoked", "end": "ended", "add": "added", "remove": "removed", "begin": "started",
		"pause": "paused", "unpause": "continued", "hold": "held", "release": "released", "skip": "skipped", "succeed": "marked as succeeded",
		"retry": "retried", "reset": "reset", "requeue": "redelivered", "requeued": "reran", "put_away": "dismissed", "approve": "approved", "reject": "rejected",
	}
	if words, ok := past[verb]; ok {
		return words
	}
	return strings.ReplaceAll(verb, "_", " ")
}

// nounName is the name of the objects that an action of this noun changes.
func nounName(noun string) string {
	names := map[string]string{
		"session": "Sign-ins", "login_link": "Login links", "member": "Members", "group": "Groups", "quota": "Limits", "user": "People", "key": "API keys", "api_key": "API keys",
		"metaflow_datastore": "Metaflow datastores", "event_consumer": "Consumers of events",
		"catalogue": "Catalogue", "type": "Types", "blob": "Files",
		"breaker": "Circuit breakers", "retry_budget": "Retry budgets", "dead_letter": "Dead letters", "delivery": "Deliveries",
	}
	if name, ok := names[noun]; ok {
		return name
	}
	words := strings.ReplaceAll(noun, "_", " ")
	return strings.ToUpper(words[:1]) + words[1:] + "s"
}
