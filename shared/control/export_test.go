package control

import "context"

// Pause replaces the wait between two tries of a write.
func (p *Service) Pause(pause func(ctx context.Context, try int) error) { p.pause = pause }

// MaxTries is how often a write is tried.
const MaxTries = maxTries

// CommitMessage and ReadMessages are what a commit of ours says.
var (
	CommitMessage = commitMessage
	ReadMessages  = readMessages
	MessageOf     = messageOf
)

// Held is how many bytes are remembered of workspaces.
func (p *Service) Held() int64 { return p.rooms.Held() + p.words.Held() }

// Author is a principal as git writes one.
var Author = author

// Cursor makes a cursor as the session's workspace does.
func (s *Session) Cursor(list, position string) string { return s.cursor(list, position) }
