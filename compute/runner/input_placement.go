package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/data/channel"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// inputPlacement transfers the file or folder of one input through the channel that the
// server chose, falls back to the next channel when that fails, and records the result.
type inputPlacement struct {
	a       *attempt
	file    *flowforgev1.InputFile
	arrival *flowforgev1.PlacedInput
}

// placeStored puts a stored file or folder at index i among the attempt's files and
// returns its path. With the MEMORY channel the path is in memory.
func (f *inputFiles) placeStored(file *flowforgev1.InputFile, folder string, i int, mode fs.FileMode) (string, error) {
	begin := time.Now()
	p := &inputPlacement{a: f.a, file: file, arrival: &flowforgev1.PlacedInput{
		Input: file.Input, Pointer: file.Pointer, Channel: file.Channel, Size: file.Size,
	}}
	if p.arrival.Channel == "" {
		p.arrival.Channel = string(channel.Distributed)
	}
	var m manifest
	var err error
	isFolder := file.MediaType == DirectoryMediaType
	if isFolder {
		if m, err = f.a.s.blobs.manifest(f.a.ctx, f.a.spec.Token, file.Sha256); err != nil {
			return "", err
		}
		p.arrival.Size = 0
		for _, e := range m.Entries {
			p.arrival.Size += e.Size
		}
	} else {
		m.Entries = []manifestEntry{{SHA256: file.Sha256, Size: file.Size, Mode: mode}}
	}
	if p.arrival.Channel == string(channel.Memory) {
		folder = p.inMemory(m, folder, i)
	}
	if p.arrival.Channel == string(channel.LocalDisk) && f.a.spec.StoreDir == "" {
		p.fallBack(channel.Distributed, "the store is not on this machine")
	}
	path := filepath.Join(folder, inputFileName(file))
	if isFolder {
		err = f.a.s.blobs.placeEntries(file.Sha256, path, m, func(e manifestEntry, to string) error { return p.one(f.a.ctx, e, to) })
	} else {
		err = p.one(f.a.ctx, m.Entries[0], path)
	}
	if err != nil {
		return "", err
	}
	p.arrival.Micros = time.Since(begin).Microseconds()
	f.placed = append(f.placed, p.arrival)
	return path, nil
}

// fallBack switches to another channel and records why.
func (p *inputPlacement) fallBack(to channel.Channel, why string) {
	p.arrival.Channel = string(to)
	p.note(why)
}

func (p *inputPlacement) note(why string) {
	if why != "" && !strings.Contains(p.arrival.Note, why) {
		p.arrival.Note = strings.TrimPrefix(p.arrival.Note+"; "+why, "; ")
	}
}

// inMemory returns a folder in memory when all files of m are in memory, else folder.
func (p *inputPlacement) inMemory(m manifest, folder string, i int) string {
	next := channel.Distributed
	if p.a.spec.StoreDir != "" {
		next = channel.LocalDisk
	}
	if !p.a.s.memory.has(m) {
		p.fallBack(next, "it is no longer in memory")
		return folder
	}
	inMemory, err := p.a.s.memory.folder(p.a.spec.TaskId, i)
	if err != nil {
		p.fallBack(next, "the folder in memory could not be created")
		return folder
	}
	return inMemory
}

// one places one file.
func (p *inputPlacement) one(ctx context.Context, e manifestEntry, to string) error {
	if !validSHA(e.SHA256) {
		return fmt.Errorf("%q is not a SHA-256 in hex", e.SHA256)
	}
	mayLink := p.a.s.blobs.links && p.file.Mode == 0
	if p.arrival.Channel == string(channel.Memory) {
		from, done := p.a.s.memory.use(e.SHA256, !mayLink || e.Size < linkAtLeast)
		if from != "" {
			p.a.inputs.held = append(p.a.inputs.held, done)
			return p.share(from, e, to, mayLink)
		}
		p.note("a part of it was no longer in memory")
	}
	if p.arrival.Channel != string(channel.Distributed) && p.a.spec.StoreDir != "" {
		from := storedAt(p.a.spec.StoreDir, e.SHA256)
		err := verifyStored(from, e.SHA256, e.Size)
		if err == nil {
			return p.share(from, e, to, mayLink)
		}
		why := "it is not in the store's folder"
		if errors.Is(err, errWrongBytes) {
			why = err.Error()
		}
		p.fallBack(channel.Distributed, why)
	}
	return p.download(ctx, e, to, mayLink)
}

// storedAt returns the path of a blob in the store in dir.
func storedAt(dir, sha string) string { return filepath.Join(dir, "data", sha[:2], sha[2:4], sha) }

func (p *inputPlacement) share(from string, e manifestEntry, to string, mayLink bool) error {
	done, err := shareFile(from, to, e.Mode.Perm(), mayLink)
	if err != nil {
		return err
	}
	p.arrival.Copied += done.copied
	if done.why == copiedForRoot && p.a.s.blobs.links {
		done.why = copiedForMode
	}
	p.note(done.why)
	if done.linked {
		return p.a.inputs.recordShared(p.file.Input, from, e.SHA256)
	}
	return nil
}

// download fetches the blob into the cache and shares it from there.
func (p *inputPlacement) download(ctx context.Context, e manifestEntry, to string, mayLink bool) error {
	var moved transferStats
	packing := channel.Compression(p.file.Compression)
	if p.a.s.server.local {
		packing = channel.None
	}
	from, err := p.a.s.blobs.fetchPacked(ctx, p.a.spec.Token, e.SHA256, packing, &moved)
	if err != nil {
		return err
	}
	p.arrival.Moved += moved.bytes
	if moved.packed != channel.None {
		p.arrival.Compression = string(moved.packed)
	}
	done, err := shareFile(from, to, e.Mode.Perm(), mayLink)
	if err != nil {
		return err
	}
	p.arrival.Copied += done.copied + moved.written
	if done.linked {
		return p.a.inputs.recordShared(p.file.Input, from, e.SHA256)
	}
	return nil
}

// transferStats describes the transfer of a blob.
type transferStats struct {
	bytes   int64 // sent over the network; 0: it was in the cache
	written int64
	packed  channel.Compression
}

// folder returns the folder on disk for file i of the inputs.
func (f *inputFiles) folder(i int) (string, error) {
	folder := filepath.Join(f.a.paths.files, strconv.Itoa(i))
	return folder, os.MkdirAll(folder, 0o700)
}

// releaseMemory releases the attempt's files in memory after its command has ended.
func (f *inputFiles) releaseMemory() {
	for _, done := range f.held {
		done()
	}
	f.held = nil
	f.a.s.memory.release(f.a.spec.TaskId)
}
