package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

//go:embed adapters/*.py requirements/*.txt
var sources embed.FS

// pythonPeer is a system that is a Python package. A script in the folder adapters runs the
// workloads; its common part, peer.py, describes the lines that it exchanges with this program.
type pythonPeer struct {
	facts        facts
	script       string
	requirements string // file of pinned packages
	driver       string // of SQLAlchemy for PostgreSQL; "" uses no database of ours
}

func (p pythonPeer) Facts() facts { return p.facts }

func (p pythonPeer) venv(e environment) string { return filepath.Join(e.cache, p.requirements) }

// Install makes the virtual environment, unless one of the same packages exists.
func (p pythonPeer) Install(ctx context.Context, e environment) error {
	packages, err := sources.ReadFile("requirements/" + p.requirements + ".txt")
	if err != nil {
		return err
	}
	dir := p.venv(e)
	stamp, mark := filepath.Join(dir, "installed"), fmt.Sprintf("%x", sha256.Sum256(append([]byte(e.python+"\n"), packages...)))
	if have, err := os.ReadFile(stamp); err == nil && string(have) == mark {
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	list := filepath.Join(dir, "requirements.txt")
	if err := command(ctx, e.python, "-m", "venv", dir); err != nil {
		return err
	}
	if err := os.WriteFile(list, packages, 0o600); err != nil {
		return err
	}
	err = command(ctx, filepath.Join(dir, "bin", "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:", "-r", list)
	if err != nil {
		return err
	}
	return os.WriteFile(stamp, []byte(mark), 0o600)
}

// command runs a command and returns the end of its output with its error.
func command(ctx context.Context, name string, arguments ...string) error {
	out, err := exec.CommandContext(ctx, name, arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(name), err, last(out, 10))
	}
	return nil
}

// last returns the last lines of a text.
func last(text []byte, lines int) string {
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

func (p pythonPeer) Start(ctx context.Context, e environment) (session, error) {
	scripts, err := writeScripts(e.folder)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(e.folder, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		return nil, err
	}
	database := ""
	if p.driver != "" {
		if database, err = e.createDatabase(ctx, "bench_"+p.requirements, p.driver); err != nil {
			return nil, err
		}
	}
	bin := filepath.Join(p.venv(e), "bin")
	s := &pythonSession{log: filepath.Join(e.folder, "log")}
	s.cmd = exec.CommandContext(ctx, filepath.Join(bin, "python"), filepath.Join(scripts, p.script+".py"))
	s.cmd.Dir = data
	s.cmd.Env = append(os.Environ(), "PEER_FOLDER="+data, "PEER_DATABASE="+database, "PATH="+bin+":"+os.Getenv("PATH"), "USER=bench", "PYTHONWARNINGS=ignore")
	// The servers of the peer end with its process group.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.cmd.Cancel = s.kill
	return s, s.start()
}

func writeScripts(folder string) (string, error) {
	dir := filepath.Join(folder, "scripts")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	entries, err := sources.ReadDir("adapters")
	if err != nil {
		return "", err
	}
	for _, entry := range entries {
		text, err := sources.ReadFile("adapters/" + entry.Name())
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, entry.Name()), text, 0o600); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// pythonSession is a running adapter.
type pythonSession struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan []byte // closed at the end of the process's output
	log     string
	version string
	ended   bool
}

// startLimit is the longest time until a peer is ready.
const startLimit = 10 * time.Minute

func (s *pythonSession) start() error {
	log, err := os.Create(s.log)
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd.Stderr = log
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.answers = make(chan []byte, 1)
	go func() {
		defer close(s.answers)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			s.answers <- bytes.Clone(lines.Bytes())
		}
	}()
	ctx, stop := context.WithTimeout(context.Background(), startLimit)
	defer stop()
	a, err := s.answer(ctx)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	s.version = a.Version
	return nil
}

// answer is a line from an adapter.
type answer struct {
	Version string  `json:"version"` // of the peer, when it is ready
	Seconds float64 `json:"seconds"` // of a workload
	Error   string  `json:"error"`
}

func parseAnswer(line []byte) (a answer, err error) {
	if err := json.Unmarshal(line, &a); err != nil {
		return a, fmt.Errorf("the adapter wrote %q: %w", line, err)
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	if a.Version == "" && a.Seconds <= 0 {
		return a, fmt.Errorf("the adapter wrote %q, which has no version and no time", line)
	}
	return a, nil
}

// answer waits for a line. Without one, the session has ended.
func (s *pythonSession) answer(ctx context.Context) (answer, error) {
	select {
	case line, ok := <-s.answers:
		if ok {
			return parseAnswer(line)
		}
	case <-ctx.Done():
	}
	s.ended = true
	text, _ := os.ReadFile(s.log)
	if err := ctx.Err(); err != nil {
		return answer{}, fmt.Errorf("no answer in time\n%s", last(text, 20))
	}
	return answer{}, fmt.Errorf("the adapter ended: %s\n%s", last(text, 1), last(text, 20))
}

func (s *pythonSession) Version() string { return s.version }

func (s *pythonSession) Ended() bool { return s.ended }

func (s *pythonSession) Run(ctx context.Context, workload string) (time.Duration, error) {
	if _, err := fmt.Fprintln(s.in, workload); err != nil {
		return 0, err
	}
	a, err := s.answer(ctx)
	return time.Duration(a.Seconds * float64(time.Second)), err
}

func (s *pythonSession) kill() error { return syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) }

// stopLimit is the longest time that a peer has to stop.
const stopLimit = 60 * time.Second

// Close ends the adapter and the servers that it started.
func (s *pythonSession) Close() error {
	_ = s.in.Close()
	if s.ended {
		_ = s.kill()
	}
	limit := time.AfterFunc(stopLimit, func() { _ = s.kill() })
	defer limit.Stop()
	for range s.answers { // until its output ends
	}
	err := s.cmd.Wait()
	_ = s.kill() // servers that have outlived the adapter
	if s.ended {
		return nil // its error is known
	}
	return err
}
