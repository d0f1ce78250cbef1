package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/cmd/flowforge/settings"
	"github.com/flowforge/flowforge/engine/inbox"
)

// mailFrom returns the mail server for personal notifications, with the contents of its files.
func mailFrom(s settings.Mail) (inbox.Mail, error) {
	m := inbox.Mail{Host: s.Host, Port: strconv.Itoa(s.Port), Security: s.TLS, From: s.From, User: s.User, Password: s.Password}
	for _, file := range []struct {
		setting, path string
		into          *string
	}{{"FLOWFORGE_MAIL_PASSWORD_FILE", s.PasswordFile, &m.Password}, {"FLOWFORGE_MAIL_CA", s.CA, &m.CACertificate}} {
		if file.path == "" {
			continue
		}
		content, err := os.ReadFile(file.path)
		if err != nil {
			return m, fmt.Errorf("%s: %w", file.setting, err)
		}
		*file.into = strings.TrimSpace(string(content))
	}
	return m, nil
}
