package oidc

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/flowforge/flowforge/apperr"
)

// AttemptTTL is the time limit of a sign-in at the provider.
const AttemptTTL = 10 * time.Minute

// Attempt is one sign-in in progress, stored in a cookie of the browser that only the
// server can read or create.
type Attempt struct {
	Provider string
	State    string
	Nonce    string
	Verifier string // of PKCE
	Next     string // path to go to afterwards
	Begun    time.Time
}

// Identity is a person's identity at a provider.
type Identity struct {
	Provider string // its id
	Issuer   string
	Subject  string
	Name     string
	Email    string
	Groups   []string
	Admin    bool // in one of the admin groups
	Mapped   bool // admin groups are configured, so Admin decides
	IDToken  string
}

// Begin returns the address at the provider to redirect to, and the attempt for Finish.
// It returns apperr.Unavailable while the provider is unreachable.
func (p *Provider) Begin(ctx context.Context, next string) (string, Attempt, error) {
	found, err := p.discover(ctx)
	if err != nil {
		return "", Attempt{}, err
	}
	a := Attempt{
		Provider: p.cfg.ID, State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Next: next, Begun: p.now(),
	}
	address := p.oauth(found).AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier))
	return address, a, nil
}

// Finish returns the identity for the query of the callback. It returns
// apperr.Unauthenticated, with a message for the person, when the query does not belong
// to a or the provider refused, and apperr.Unavailable when the provider does not
// respond.
func (p *Provider) Finish(ctx context.Context, a Attempt, query url.Values) (Identity, error) {
	if err := p.checkAnswer(a, query); err != nil {
		return Identity{}, err
	}
	found, err := p.discover(ctx)
	if err != nil {
		return Identity{}, err
	}
	token, err := p.oauth(found).Exchange(p.with(ctx), query.Get("code"), oauth2.VerifierOption(a.Verifier))
	if err != nil {
		if _, refused := errors.AsType[*oauth2.RetrieveError](err); refused {
			return Identity{}, apperr.Wrap(apperr.Unauthenticated, err, p.cfg.Name+" did not accept this sign-in: it was already used or took too long. Sign in again.")
		}
		return Identity{}, p.unreachable(err)
	}
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return Identity{}, apperr.New(apperr.Unauthenticated, "%s sent no ID token. Contact your administrator.", p.cfg.Name)
	}
	verified, err := found.provider.Verifier(&oidc.Config{ClientID: p.cfg.ClientID, Now: p.now}).Verify(p.with(ctx), raw)
	if err != nil {
		return Identity{}, apperr.Wrap(apperr.Unauthenticated, err, "The response from "+p.cfg.Name+" is not valid for this installation. Sign in again; if the problem persists, contact your administrator.")
	}
	if subtle.ConstantTimeCompare([]byte(verified.Nonce), []byte(a.Nonce)) != 1 {
		return Identity{}, apperr.New(apperr.Unauthenticated, "The response from %s belongs to another sign-in attempt. Sign in again.", p.cfg.Name)
	}
	return p.identity(ctx, found, verified, token, raw)
}

// checkAnswer checks the callback of the browser before it calls the provider.
func (p *Provider) checkAnswer(a Attempt, query url.Values) error {
	state := query.Get("state")
	switch {
	case a.Provider != p.cfg.ID || state == "" || subtle.ConstantTimeCompare([]byte(state), []byte(a.State)) != 1:
		return apperr.New(apperr.Unauthenticated, "This sign-in was started in another browser or window. Sign in again.")
	case p.now().Sub(a.Begun) >= AttemptTTL:
		return apperr.New(apperr.Unauthenticated, "This sign-in took longer than %d minutes. Sign in again.", int(AttemptTTL.Minutes()))
	case query.Has("iss") && query.Get("iss") != p.cfg.Issuer:
		return apperr.New(apperr.Unauthenticated, "The response came from another provider. Sign in again.")
	case query.Has("error"):
		return p.refusal(query.Get("error"))
	case query.Get("code") == "":
		return apperr.New(apperr.Unauthenticated, "%s did not send a response. Sign in again.", p.cfg.Name)
	}
	return nil
}

// refusal describes why a provider refused a sign-in. It does not show the provider's
// own text, because anyone could have put it into the address.
func (p *Provider) refusal(code string) error {
	switch code {
	case "access_denied":
		return apperr.New(apperr.Unauthenticated, "%s denied access, or you cancelled.", p.cfg.Name)
	case "login_required", "interaction_required", "consent_required", "account_selection_required":
		return apperr.New(apperr.Unauthenticated, "%s requires you to sign in there first. Sign in again.", p.cfg.Name)
	case "temporarily_unavailable", "server_error":
		return apperr.New(apperr.Unavailable, "%s is temporarily unavailable. Try again in a minute.", p.cfg.Name)
	}
	return apperr.New(apperr.Unauthenticated, "%s rejected the client of this installation. Ask your administrator to check the client settings at the provider.", p.cfg.Name)
}

// claims are the claims about a person that we read.
type claims struct {
	Name     string `json:"name"`
	Username string `json:"preferred_username"`
	Email    string `json:"email"`
	Verified *bool  `json:"email_verified"`
}

func (p *Provider) identity(ctx context.Context, found *discovered, verified *oidc.IDToken, token *oauth2.Token, raw string) (Identity, error) {
	var who claims
	var all map[string]any
	if err := errors.Join(verified.Claims(&who), verified.Claims(&all)); err != nil {
		return Identity{}, apperr.Wrap(apperr.Unauthenticated, err, "The account information from "+p.cfg.Name+" is not valid. Contact your administrator.")
	}
	groups, present := groupsOf(all, p.cfg.GroupsClaim)
	if (!present || who.Name == "" && who.Username == "") && found.provider.UserInfoEndpoint() != "" {
		info, err := found.provider.UserInfo(p.with(ctx), oauth2.StaticTokenSource(token))
		if err != nil {
			return Identity{}, p.unreachable(err)
		}
		if info.Subject != verified.Subject {
			return Identity{}, apperr.New(apperr.Unauthenticated, "%s sent conflicting information about you. Contact your administrator.", p.cfg.Name)
		}
		var more claims
		if err := errors.Join(info.Claims(&more), info.Claims(&all)); err != nil {
			return Identity{}, apperr.Wrap(apperr.Unauthenticated, err, "The account information from "+p.cfg.Name+" is not valid. Contact your administrator.")
		}
		who = who.or(more)
		groups, _ = groupsOf(all, p.cfg.GroupsClaim)
	}
	id := Identity{
		Provider: p.cfg.ID, Issuer: verified.Issuer, Subject: verified.Subject, Name: clean(who.label(verified.Subject), maxName), Groups: groups,
		Mapped: len(p.cfg.AdminGroups) > 0, IDToken: raw,
	}
	if who.Verified == nil || *who.Verified {
		id.Email = clean(who.Email, maxEmail)
	}
	id.Admin = slices.ContainsFunc(groups, func(g string) bool { return slices.Contains(p.cfg.AdminGroups, g) })
	return id, nil
}

// or returns c with missing claims taken from more.
func (c claims) or(more claims) claims {
	if c.Name == "" {
		c.Name = more.Name
	}
	if c.Username == "" {
		c.Username = more.Username
	}
	if c.Email == "" {
		c.Email, c.Verified = more.Email, more.Verified
	}
	return c
}

func (c claims) label(subject string) string {
	for _, name := range []string{c.Name, c.Username, c.Email} {
		if clean(name, maxName) != "" {
			return name
		}
	}
	return subject
}

// groupsOf reads a claim that is a list of names or one name, sorted and deduplicated;
// present is false when the claim is absent.
func groupsOf(all map[string]any, claim string) (groups []string, present bool) {
	value, present := all[claim]
	switch v := value.(type) {
	case string:
		groups = append(groups, v)
	case []any:
		for _, item := range v {
			name, _ := item.(string)
			groups = append(groups, name)
		}
	}
	groups = slices.DeleteFunc(groups, func(g string) bool { return g == "" || g != clean(g, maxGroup) })
	slices.Sort(groups)
	return slices.Compact(groups), present
}

// The maximum lengths of a provider's texts, in characters.
const (
	maxName  = 200
	maxEmail = 320
	maxGroup = 255
)

// clean returns at most n characters of text, without invisible ones.
func clean(text string, n int) string {
	runes := []rune(strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, text)))
	return string(runes[:min(len(runes), n)])
}
