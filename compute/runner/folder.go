package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"connectrpc.com/connect"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

const (
	// defaultSaveEvery is the interval at which the checkpoint folder is checked.
	defaultSaveEvery = 30 * time.Second
	// folderQuiet is how long a file must be unchanged to count as complete. A folder
	// that changes constantly is saved anyway after some rounds.
	folderQuiet   = 2 * time.Second
	unsettledMost = 5
	// lastSaveLimit bounds the save at the end of an attempt.
	lastSaveLimit = 10 * time.Minute
	saveCallLimit = 30 * time.Second
)

// errUnsettled reports that the folder changed while it was read.
var errUnsettled = errors.New("the checkpoint folder is being written")

// folderSaver stores an attempt's checkpoint folder on the server. The next attempt
// starts from the latest recorded state, on any machine. Only files that are new to the
// server are sent.
type folderSaver struct {
	a    *attempt
	stop chan struct{}
	once sync.Once
	loop sync.WaitGroup

	known     map[string]knownFile // by path; unchanged files are not read again
	sent      map[string]bool      // hashes that the server has
	recorded  string               // hash of the manifest that the server has recorded
	unsettled int                  // consecutive rounds in which the folder was being written
	failed    bool                 // a failure has been logged
}

// knownFile is the state of a file when its hash was computed.
type knownFile struct {
	size int64
	at   time.Time
	sha  string
}

func newFolderSaver(a *attempt) *folderSaver {
	return &folderSaver{a: a, stop: make(chan struct{}), known: map[string]knownFile{}, sent: map[string]bool{}}
}

// restore fills the attempt's folder with the checkpoints of an earlier attempt. If the
// server no longer has them, the attempt starts without them.
func (f *folderSaver) restore(ctx context.Context) error {
	sha := f.a.spec.CheckpointSha256
	if sha == "" {
		return nil
	}
	m, err := f.a.s.blobs.restoreDirectory(ctx, f.a.spec.Token, sha, f.a.paths.checkpoints)
	if refused, ok := errors.AsType[*refusedError](err); ok && refused.status == http.StatusNotFound {
		f.a.system(levelWarn, "The checkpoints of the previous attempt no longer exist; this attempt starts without them.")
		return removeContent(f.a.paths.checkpoints)
	}
	if err != nil {
		return fmt.Errorf("checkpoints: %w", err)
	}
	f.recorded = sha
	for _, e := range m.Entries {
		f.sent[e.SHA256] = true
	}
	f.a.system(levelInfo, fmt.Sprintf("Restored the checkpoints of the previous attempt: %d files.", len(m.Entries)))
	return nil
}

// begin saves at intervals until finish.
func (f *folderSaver) begin() {
	if !f.a.gang.reports() {
		return
	}
	every := f.a.s.config.SaveEvery
	f.loop.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		ctx, cancel := context.WithCancel(f.a.s.ctx)
		defer cancel()
		go func() {
			select {
			case <-f.stop:
				cancel()
			case <-ctx.Done():
			}
		}()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				f.saveIfIdle(ctx)
			}
		}
	})
}

// saveIfIdle saves the changes unless the folder is being written.
func (f *folderSaver) saveIfIdle(ctx context.Context) {
	err := f.save(ctx, f.unsettled < unsettledMost)
	switch {
	case err == nil:
		f.unsettled, f.failed = 0, false
	case errors.Is(err, errUnsettled):
		f.unsettled++
	case ctx.Err() == nil && !f.failed:
		f.failed = true
		f.a.system(levelWarn, "The checkpoints could not be saved: "+err.Error()+".")
	}
}

// finish saves the final state for the next attempt and ends the rounds.
func (f *folderSaver) finish(outcome flowforgev1.Outcome) {
	f.once.Do(func() { close(f.stop) })
	f.loop.Wait()
	if outcome == flowforgev1.Outcome_OUTCOME_SUCCEEDED || !f.a.gang.reports() {
		return
	}
	if cause := context.Cause(f.a.ctx); errors.Is(cause, errToken) {
		return
	}
	ctx, cancel := context.WithTimeout(f.a.s.ctx, lastSaveLimit)
	defer cancel()
	if err := f.save(ctx, false); err != nil {
		f.a.system(levelWarn, "The last checkpoints could not be saved: "+err.Error()+".")
	}
}

// save sends the files that the server does not have, then records the folder. With
// settled, it does not save a folder that is being written.
func (f *folderSaver) save(ctx context.Context, settled bool) error {
	m, size, err := f.manifest(settled)
	if err != nil || (len(m.Entries) == 0 && f.recorded == "") {
		return err
	}
	data, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode the folder: %w", err)
	}
	sum := sha256.Sum256(data)
	sha := hex.EncodeToString(sum[:])
	if sha == f.recorded {
		return nil
	}
	var files []outgoing
	for _, e := range m.Entries {
		if !f.sent[e.SHA256] {
			path := filepath.Join(f.a.paths.checkpoints, filepath.FromSlash(e.Path))
			if e.isLink() {
				if path, err = m.stage(e, f.a.paths.base); err != nil {
					return err
				}
			}
			files = append(files, outgoing{sha: e.SHA256, path: path, size: e.Size})
		}
	}
	if err := f.a.s.server.uploadFiles(ctx, f.a.spec.Token, files, nil); err != nil {
		f.known = map[string]knownFile{} // a file may have changed since it was hashed
		return err
	}
	for _, file := range files {
		f.sent[file.sha] = true
	}
	path := filepath.Join(f.a.paths.base, "checkpoints.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return err
	}
	defer os.Remove(path)
	if err := f.a.s.server.upload(ctx, f.a.spec.Token, outgoing{sha: sha, path: path, size: int64(len(data))}, nil); err != nil {
		return err
	}
	if err := f.record(ctx, sha, size); err != nil {
		return err
	}
	f.recorded = sha
	return nil
}

func (f *folderSaver) record(ctx context.Context, sha string, size int64) error {
	return f.a.s.server.persistently(ctx, nil, func() error {
		ctx, cancel := context.WithTimeout(ctx, saveCallLimit)
		defer cancel()
		req := connect.NewRequest(&flowforgev1.SaveFolderRequest{TaskId: f.a.spec.TaskId, Sha256: sha, Size: size})
		req.Header().Set("Authorization", "Bearer "+f.a.spec.Token)
		_, err := f.a.s.server.tasks.SaveFolder(ctx, req)
		return rpcError("checkpoints", err)
	})
}

// manifest lists the folder; it does not read unchanged files again.
func (f *folderSaver) manifest(settled bool) (m manifest, size int64, err error) {
	root, err := os.OpenRoot(f.a.paths.checkpoints)
	if err != nil {
		return m, 0, fmt.Errorf("checkpoints: %w", err)
	}
	defer root.Close()
	m.Entries, m.targets = []manifestEntry{}, map[string]string{}
	now, known := time.Now(), make(map[string]knownFile)
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed while the folder was read
		}
		if err != nil || !entry.Type().IsRegular() && entry.Type() != fs.ModeSymlink {
			return err
		}
		if len(m.Entries) == maxDirectoryEntries {
			return fmt.Errorf("the folder has more than %d files; write an archive instead", maxDirectoryEntries)
		}
		if entry.Type() == fs.ModeSymlink {
			e, target, err := linkEntry(root, name, name)
			if err != nil {
				return errUnsettled
			}
			m.targets[e.SHA256], size = target, size+e.Size
			m.Entries = append(m.Entries, e)
			return nil
		}
		e, file, err := f.entry(root, name, entry)
		if err != nil {
			return err
		}
		if settled && now.Sub(file.at) < folderQuiet {
			return errUnsettled
		}
		known[name] = file
		size += e.Size
		m.Entries = append(m.Entries, e)
		return nil
	})
	if err == nil {
		f.known = known
	}
	return m, size, err
}

func (f *folderSaver) entry(root *os.Root, name string, entry fs.DirEntry) (manifestEntry, knownFile, error) {
	info, err := entry.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return manifestEntry{}, knownFile{}, errUnsettled
	}
	if err != nil {
		return manifestEntry{}, knownFile{}, err
	}
	file, same := f.known[name]
	if !same || file.size != info.Size() || !file.at.Equal(info.ModTime()) {
		sha, size, _, err := hashed(context.Background(), root, name)
		if errors.Is(err, fs.ErrNotExist) || err == nil && size != info.Size() {
			return manifestEntry{}, knownFile{}, errUnsettled
		}
		if err != nil {
			return manifestEntry{}, knownFile{}, err
		}
		file = knownFile{size: size, at: info.ModTime(), sha: sha}
	}
	return manifestEntry{Path: name, SHA256: file.sha, Size: file.size, Mode: info.Mode().Perm()}, file, nil
}

// removeContent empties a folder without removing it.
func removeContent(folder string) error {
	names, err := readNames(folder)
	for _, name := range names {
		err = errors.Join(err, os.RemoveAll(filepath.Join(folder, name)))
	}
	return err
}
