package awsclient

import (
	"context"
	"io"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// KeepAlive lets a client keep its connections. It belongs into the APIOptions
// of a client or of what clients are made of. Twice is as good as once.
//
// The SDK takes a request's body away from net/http as soon as the head of the
// answer is there. net/http, which may not yet have looked whether the body has
// ended, asks it to write out its rest, gets an error for that, and closes the
// connection: under the answer, if that is a long one ("use of closed network
// connection", aws-sdk-go-v2 issues 1825 and 2737), or before the next request,
// which then pays for a handshake. On a machine with little time, as most
// Lambda functions run on, that happens to one request in ten.
//
// A body that can be read, but cannot write itself out, only says that it has
// ended.
func KeepAlive(stack *middleware.Stack) error {
	const id = "KeepAlive"
	if _, installed := stack.Build.Get(id); installed {
		return nil
	}
	return stack.Build.Add(middleware.BuildMiddlewareFunc(id, keep), middleware.After)
}

func keep(ctx context.Context, in middleware.BuildInput, next middleware.BuildHandler) (middleware.BuildOutput, middleware.Metadata, error) {
	if r, ok := in.Request.(*smithyhttp.Request); ok {
		if body, ok := r.GetStream().(io.ReadSeeker); ok {
			plain, err := r.SetStream(struct{ io.ReadSeeker }{body})
			if err != nil {
				return middleware.BuildOutput{}, middleware.Metadata{}, err
			}
			in.Request = plain
		}
	}
	return next.HandleBuild(ctx, in)
}
