package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/flowforge/flowforge/data/channel"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

const (
	chunkSize = 8 << 20                // maximum size of a chunk
	chunkWait = time.Second            // how long a smaller chunk waits for more bytes
	chunkPoll = 100 * time.Millisecond // interval at which the file is checked
)

// chunkUploader uploads what the command writes to one output to the store in chunks, for
// readers on other machines. Readers do not depend on it: they get missing chunks from
// the complete output.
type chunkUploader struct {
	a      *attempt
	output string
	file   *os.File
	sent   int64
	index  int32
	last   time.Time
	failed bool
}

// liveUploads are the outputs of an attempt that are uploaded while they are written.
type liveUploads struct {
	list []*chunkUploader
	stop context.CancelFunc
	loop sync.WaitGroup
}

// uploadChunks starts to upload the outputs that others read while they are written,
// where readers share no disk with this runner.
func (a *attempt) uploadChunks() *liveUploads {
	s := &liveUploads{}
	if a.s.config.Pod == nil {
		return s
	}
	var ctx context.Context
	ctx, s.stop = context.WithCancel(a.ctx)
	for _, o := range a.spec.Outputs {
		if o.Storage != channel.HintStreaming {
			continue
		}
		p := &chunkUploader{a: a, output: o.Name, last: time.Now()}
		s.list = append(s.list, p)
		s.loop.Go(func() {
			for more := true; more; more = sleepContext(ctx, chunkPoll) {
				p.send(ctx, false)
			}
		})
	}
	return s
}

// finish sends the remaining bytes if the command succeeded.
func (s *liveUploads) finish(ctx context.Context, well bool) {
	if s.stop == nil {
		return
	}
	s.stop()
	s.loop.Wait()
	for _, p := range s.list {
		if well {
			p.send(ctx, true)
		}
		if p.file != nil {
			_ = p.file.Close()
		}
	}
}

// send sends the due chunks; with all, everything.
func (p *chunkUploader) send(ctx context.Context, all bool) {
	if p.file == nil {
		if p.file = openOutput(p.a.paths.outputs, p.output); p.file == nil {
			return
		}
	}
	for ctx.Err() == nil && !p.failed {
		info, err := p.file.Stat()
		if err != nil {
			return
		}
		left := info.Size() - p.sent
		if left <= 0 || left < chunkSize && !all && time.Since(p.last) < chunkWait {
			return
		}
		if err := p.next(ctx, min(left, chunkSize)); err != nil && ctx.Err() == nil {
			p.failed = true
			p.a.system(levelWarn, fmt.Sprintf("Streaming of the output %s stopped; its readers get the rest when it is complete: %s.", p.output, err))
		}
	}
}

// next sends the next size bytes.
func (p *chunkUploader) next(ctx context.Context, size int64) error {
	path := filepath.Join(p.a.paths.base, "piece-"+p.output)
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer os.Remove(path)
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(file, hash), io.NewSectionReader(p.file, p.sent, size))
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil && n != size {
		err = io.ErrUnexpectedEOF // the file was truncated in the meantime
	}
	if err != nil {
		return err
	}
	sha := hex.EncodeToString(hash.Sum(nil))
	s := p.a.s
	if err := s.server.upload(ctx, p.a.spec.Token, outgoing{sha: sha, path: path, size: size}, func() {}); err != nil {
		return err
	}
	err = s.server.persistently(ctx, func() {}, func() error {
		req := connect.NewRequest(&flowforgev1.AppendStreamRequest{TaskId: p.a.spec.TaskId, Output: p.output, Index: p.index, Sha256: sha, Size: size})
		req.Header().Set("Authorization", "Bearer "+p.a.spec.Token)
		_, err := s.server.tasks.AppendStream(ctx, req)
		return rpcError("send a chunk", err)
	})
	if err != nil {
		return err
	}
	p.sent += size
	p.index++
	p.last = time.Now()
	return nil
}
