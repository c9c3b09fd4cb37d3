package access

// Kind is what a key is for.
type Kind string

// The kinds of key. A guard key is a service account's, and only takes back what named that
// account as its guard. A session is a key in a cookie, of a person who has signed in; a
// one-time key is what an address holds that signs a person in, once.
const (
	KindUser           Kind = "user"
	KindServiceAccount Kind = "service_account"
	KindGuard          Kind = "guard"
	KindPublicSDK      Kind = "public_sdk"
	KindSecretSDK      Kind = "secret_sdk"
	KindSession        Kind = "session"
	KindOneTime        Kind = "one_time"
)

const prefixLength = len("svc_uk_")

var prefixByKind = map[Kind]string{
	KindUser:           "svc_uk_",
	KindServiceAccount: "svc_sa_",
	KindGuard:          "svc_gk_",
	KindPublicSDK:      "svc_pk_",
	KindSecretSDK:      "svc_sk_",
	KindSession:        "svc_cs_",
	KindOneTime:        "svc_ot_",
}

// Prefix is how the text of such a key begins; empty for an unknown kind.
func (k Kind) Prefix() string {
	return prefixByKind[k]
}

// Manages reports whether such a key may use the control plane.
func (k Kind) Manages() bool {
	return k == KindUser || k == KindServiceAccount || k == KindSession
}

// Delivers reports whether such a key may use the delivery API.
func (k Kind) Delivers() bool {
	return k == KindPublicSDK || k == KindSecretSDK
}

// SignsIn reports whether such a key is made by signing in, or for it, and by nothing else.
func (k Kind) SignsIn() bool { return k == KindSession || k == KindOneTime }

// person reports whether such a key is a person's.
func (k Kind) person() bool { return k == KindUser || k.SignsIn() }
