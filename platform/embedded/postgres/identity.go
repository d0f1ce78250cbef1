package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/flowforge/flowforge/apperr"
)

// identity is the user that PostgreSQL runs as. PostgreSQL refuses to run as root, so
// root has two options: a user namespace in which root's files belong to an ordinary
// user, or another account. The first needs no account and no open parent directories,
// the second no user namespaces, which many containers forbid.
type identity struct {
	mode     string // self, namespace or account
	uid, gid int    // owner of the files, as the host sees it
}

const (
	modeSelf      = "self"
	modeNamespace = "namespace"
	modeAccount   = "account"
)

// namespaceID returns root's number inside the user namespace: that of an existing account,
// because initdb looks up the name of its user.
func namespaceID() int {
	for _, name := range []string{"postgres", "daemon", "nobody"} {
		if account, err := accountIdentity(name); err == nil && account.uid != 0 {
			return account.uid
		}
	}
	return 1000
}

// String is the form that is stored in the directory.
func (i identity) String() string { return fmt.Sprintf("%s %d %d", i.mode, i.uid, i.gid) }

// attributes makes a process run as the identity.
func (i identity) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{}
	switch {
	case i.mode == modeNamespace:
		id := namespaceID()
		attr.Cloneflags = syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: id, HostID: 0, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: id, HostID: 0, Size: 1}}
		attr.Credential = &syscall.Credential{Uid: uint32(id), Gid: uint32(id), NoSetGroups: true} //nolint:gosec // the kernel has no others
	case i.uid != os.Geteuid():
		attr.Credential = &syscall.Credential{Uid: uint32(i.uid), Gid: uint32(i.gid)} //nolint:gosec // the kernel has no others
	}
	return attr
}

// chooseIdentity returns the identity stored in dir, or, for a new directory, the first
// one that works. The owner of an existing directory never changes.
func chooseIdentity(ctx context.Context, dir, binDir string) (identity, error) {
	remembered, err := os.ReadFile(filepath.Join(dir, "run-as"))
	if err == nil {
		id, err := parseIdentity(string(remembered))
		if err != nil {
			return identity{}, err
		}
		return id, id.usable(ctx, dir, binDir)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return identity{}, err
	}
	if os.Geteuid() != 0 {
		return identity{mode: modeSelf, uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	id := identity{mode: modeNamespace}
	problem := id.usable(ctx, dir, binDir)
	if problem == nil {
		return id, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		id, err := accountIdentity(name)
		if err == nil {
			err = id.usable(ctx, dir, binDir)
		}
		if err == nil {
			return id, nil
		}
		problem = err
	}
	return identity{}, problem
}

func accountIdentity(name string) (identity, error) {
	account, err := user.Lookup(name)
	if err != nil {
		return identity{}, apperr.New(apperr.Unavailable,
			"PostgreSQL does not run as root, and there is neither a user namespace nor an account %s to run it: start FlowForge as an ordinary user", name)
	}
	uid, errUID := strconv.Atoi(account.Uid)
	gid, errGID := strconv.Atoi(account.Gid)
	return identity{mode: modeAccount, uid: uid, gid: gid}, errors.Join(errUID, errGID)
}

func parseIdentity(s string) (identity, error) {
	var id identity
	if _, err := fmt.Sscanf(strings.TrimSpace(s), "%s %d %d", &id.mode, &id.uid, &id.gid); err != nil {
		return identity{}, fmt.Errorf("read the file run-as: %w", err)
	}
	return id, nil
}

// usable checks that a process of the identity can be started here, can run the
// programs in binDir, and can enter dir.
func (i identity) usable(ctx context.Context, dir, binDir string) error {
	if os.Geteuid() != 0 && i.uid != os.Geteuid() {
		return apperr.New(apperr.Forbidden, "the data in %s was created by %s: start FlowForge as that user, or choose another data directory", dir, ownerName(i.uid))
	}
	cmd := exec.CommandContext(ctx, filepath.Join(binDir, "postgres"), "--version")
	cmd.SysProcAttr, cmd.Env, cmd.Dir = i.attributes(), environment(binDir), dir
	if out, err := cmd.CombinedOutput(); err != nil {
		how := "in a user namespace"
		if i.mode != modeNamespace {
			how = "as " + ownerName(i.uid)
		}
		return apperr.Wrap(apperr.Unavailable, fmt.Errorf("%w%s", err, oneLine(out)),
			fmt.Sprintf("PostgreSQL cannot run %s in %s", how, dir))
	}
	return nil
}

func oneLine(out []byte) string {
	text := strings.TrimSpace(string(out))
	if text == "" {
		return ""
	}
	line, _, _ := strings.Cut(text, "\n")
	return ": " + line
}

func ownerName(uid int) string {
	if account, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return account.Username
	}
	return "user " + strconv.Itoa(uid)
}
