// Package openfeature is a provider for the OpenFeature Go SDK over package
// client.
//
//	flags, err := client.Open(ctx, client.Options{Datadir: "our-config"})
//	...
//	err = openfeature.SetProviderAndWait(svcfeature.New(flags))
//
// OpenFeature's own tiers (API, transaction, client, invocation, hooks) merge
// per flat key before a provider sees them. The result is mapped to named
// contexts by the first dot of each key:
//
//	user.plan           property plan of the context user
//	region              property region of the unnamed context
//	user: {plan: ...}   property plan of the context user, where user.plan is not there
//	targetingKey        user.key, where that is not there
//
// and goes into the evaluation as just-in-time context. So it replaces whole
// named contexts of the native global and scoped layers: a targetingKey alone
// makes a user of nothing but a key. Named contexts that it does not mention
// come from the native layers; pass a ctx of package contexts for that.
//
// Reasons, variants and metadata are those that the delivery service gives over
// OFREP. Where no rule matches, the caller's default comes back with the reason
// DEFAULT. A secret value is handed out like any other, and what is served of
// one is marked secret in the flag metadata, for hooks that log.
//
// What must stay true: an evaluation never fails in another way than by a
// resolution error beside the default, and waits for nothing.
package openfeature
