package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxMessage is how many bytes a message may have: a change set of 5 MiB, and what
// surrounds it.
const maxMessage = 6 << 20

// lines is the protocol's stdio transport: each message is a line. The SDK's own ends
// at the first line that is no message; a client that prints one by mistake is
// answered here, and goes on.
type lines struct {
	in  io.Reader
	out io.Writer
	// ended is called when nothing more will come. What has come is then answered, as
	// long as calls is not done.
	ended func()
	calls context.Context
}

func (l lines) Connect(context.Context) (mcp.Connection, error) {
	c := &connection{out: l.out, messages: make(chan received), closed: make(chan struct{}), calls: l.calls,
		pending: map[jsonrpc.ID]bool{}, answered: make(chan struct{}, 1)}
	go func() {
		c.receive(l.in)
		l.ended()
		close(c.messages)
	}()
	return c, nil
}

type connection struct {
	messages  chan received
	closed    chan struct{}
	closeOnce sync.Once
	calls     context.Context
	answered  chan struct{} // holds something when pending was made less

	lock    sync.Mutex // of what follows
	out     io.Writer
	pending map[jsonrpc.ID]bool // requests that are not answered yet
}

// received is a line without its end, or why it cannot be taken.
type received struct {
	line    []byte
	refused error
}

var errTooLong = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the message has more than 6 MiB"}

// receive reads lines until there are none.
func (c *connection) receive(in io.Reader) {
	reader := bufio.NewReaderSize(in, 64<<10)
	for {
		var next received
		var part []byte
		var err error
		for part, err = reader.ReadSlice('\n'); ; part, err = reader.ReadSlice('\n') {
			if len(next.line)+len(part) > maxMessage {
				next = received{refused: errTooLong}
			}
			if next.refused == nil {
				next.line = append(next.line, part...)
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				break
			}
		}
		if len(next.line) > 0 || next.refused != nil {
			select {
			case c.messages <- next:
			case <-c.closed:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// Read implements mcp.Connection.
func (c *connection) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		case next, more := <-c.messages:
			if !more {
				c.finish(ctx)
				return nil, io.EOF
			}
			message, err := decode(next)
			if request, is := message.(*jsonrpc.Request); is && request.IsCall() && request.Method != "subscriptions/listen" { // which has no end
				c.lock.Lock()
				c.pending[request.ID] = true
				c.lock.Unlock()
			}
			if err == nil && message != nil {
				return message, nil
			}
			if err != nil { // which has no id to be answered by
				text, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": err})
				if c.send(text) != nil {
					return nil, io.EOF // nobody listens
				}
			}
		}
	}
}

// finish waits until all requests are answered: the SDK drops those that are not when
// the input ends, and a script writes its requests and closes.
func (c *connection) finish(ctx context.Context) {
	for {
		c.lock.Lock()
		n := len(c.pending)
		c.lock.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-c.answered:
		case <-c.calls.Done():
			return
		case <-c.closed:
			return
		case <-ctx.Done():
			return
		}
	}
}

// decode reads a message; none of a line that is blank.
func decode(r received) (jsonrpc.Message, error) {
	if r.refused != nil {
		return nil, r.refused
	}
	if len(bytes.TrimSpace(r.line)) == 0 {
		return nil, nil
	}
	if !json.Valid(r.line) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "this line is not JSON: each message is one line"}
	}
	message, err := jsonrpc.DecodeMessage(r.line)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: `this is no message of JSON-RPC 2.0, such as {"jsonrpc":"2.0","id":1,"method":"tools/list"}`}
	}
	request, is := message.(*jsonrpc.Request)
	if !is {
		return message, nil
	}
	// It is known by the bytes of its id, since the SDK makes an integer of every number;
	// and so is a request that is cancelled.
	var sent, params map[string]json.RawMessage
	if json.Unmarshal(r.line, &sent) == nil && request.IsCall() {
		request.ID, _ = jsonrpc.MakeID(string(sent["id"])) // a text is one
	}
	if request.Method == "notifications/cancelled" && json.Unmarshal(request.Params, &params) == nil && params["requestId"] != nil {
		params["requestId"], _ = json.Marshal(string(params["requestId"])) // of what was read
		request.Params, _ = json.Marshal(params)
	}
	return message, nil
}

// Write implements mcp.Connection.
func (c *connection) Write(ctx context.Context, message jsonrpc.Message) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	text, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	response, is := message.(*jsonrpc.Response)
	if !is {
		return c.send(text)
	}
	var encoded struct{ ID json.RawMessage }
	if id, kept := response.ID.Raw().(string); kept && json.Unmarshal(text, &encoded) == nil { // as it was sent, see decode
		text = bytes.Replace(text, append([]byte(`"id":`), encoded.ID...), []byte(`"id":`+id), 1)
	}
	err = c.send(text)
	c.lock.Lock()
	delete(c.pending, response.ID)
	c.lock.Unlock()
	select {
	case c.answered <- struct{}{}:
	default:
	}
	return err
}

func (c *connection) send(text []byte) error {
	c.lock.Lock()
	defer c.lock.Unlock()
	_, err := c.out.Write(append(text, '\n'))
	return err
}

// Close implements mcp.Connection.
func (c *connection) Close() error {
	c.closeOnce.Do(func() { close(c.closed) })
	return nil
}

// SessionID implements mcp.Connection: there is one client.
func (c *connection) SessionID() string { return "" }
