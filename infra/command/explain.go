package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"
)

// patience is how long credentials are looked for: on a machine that is none of
// AWS's, their last resort does not answer.
const patience = 10 * time.Second

// haveCredentials says when there are none, before a store is asked over and over.
func haveCredentials(ctx context.Context, cfg aws.Config) error {
	looking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := cfg.Credentials.Retrieve(looking)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case os.Getenv("AWS_PROFILE") == "":
		return fmt.Errorf("no AWS credentials found: run aws configure, or export AWS_PROFILE (%w)", err)
	}
	return fmt.Errorf("cannot get the AWS credentials of the profile %s: %w", os.Getenv("AWS_PROFILE"), err)
}

// explain puts what AWS answers into words that can be acted on.
func (s *session) explain(err error) error {
	said, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return err
	}
	switch said.ErrorCode() {
	case "ResourceNotFoundException":
		return fmt.Errorf("there is no table %s there; the outputs of the stack name it, and its region", s.table)
	case "NoSuchBucket":
		return fmt.Errorf("there is no bucket %s there; the outputs of the stack name it, and its region", s.bucket)
	case "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException":
		return fmt.Errorf("the bucket %s is in another region: export AWS_REGION as the region of the stack", s.bucket)
	case "AccessDenied", "AccessDeniedException":
		return fmt.Errorf("these AWS credentials may not do this: %s", said.ErrorMessage())
	case "UnrecognizedClientException", "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidSignatureException", "ExpiredToken", "ExpiredTokenException":
		return fmt.Errorf("AWS does not accept these credentials: %s", said.ErrorMessage())
	}
	return err
}
