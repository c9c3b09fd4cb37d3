package access

// Kind is what a key is for.
type Kind string

// The four kinds of key.
const (
	KindUser           Kind = "user"
	KindServiceAccount Kind = "service_account"
	KindPublicSDK      Kind = "public_sdk"
	KindSecretSDK      Kind = "secret_sdk"
)

const prefixLength = len("svc_uk_")

var prefixByKind = map[Kind]string{
	KindUser:           "svc_uk_",
	KindServiceAccount: "svc_sa_",
	KindPublicSDK:      "svc_pk_",
	KindSecretSDK:      "svc_sk_",
}

// Prefix is how the text of such a key begins; empty for an unknown kind.
func (k Kind) Prefix() string {
	return prefixByKind[k]
}

// Manages reports whether such a key may use the control plane.
func (k Kind) Manages() bool {
	return k == KindUser || k == KindServiceAccount
}

// Delivers reports whether such a key may use the delivery API.
func (k Kind) Delivers() bool {
	return k == KindPublicSDK || k == KindSecretSDK
}
