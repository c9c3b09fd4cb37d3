package apiload

// The items that are there from the start. What the clients create is called
// fresh-0, fresh-1 and so on, in several spellings.
const (
	boolFlag    = "redesign"
	stringFlag  = "headline"
	IntConfig   = "timeout"
	serviceLogs = "log-level.shop"
)

// Fixture is what the clients find.
func Fixture() map[string]string {
	return map[string]string{
		"svc.json": `{"environments": ["development", "staging", {"name": "production", "protected": true}]}`,
		PathOf("flags", boolFlag): `{
  "key": "redesign", "type": "feature_flag", "valueType": "bool", "access": "standard", "tags": ["checkout"],
  "default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "bool", "value": false}}]},
  "environments": [{"id": "production", "rules": [
    {"criteria": [{"operator": "PROP_IS_ONE_OF", "propertyName": "user.plan", "valueToMatch": {"type": "string_list", "value": ["beta"]}}], "value": {"type": "bool", "value": true}},
    {"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "bool", "value": false}}]}],
  "variants": [{"value": {"type": "bool", "value": false}}, {"value": {"type": "bool", "value": true}}]}`,
		PathOf("flags", stringFlag): `{
  "key": "headline", "type": "feature_flag", "valueType": "string", "access": "standard", "tags": [],
  "default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "string", "value": "red"}}]},
  "environments": [],
  "variants": [{"value": {"type": "string", "value": "blue"}}, {"value": {"type": "string", "value": "green"}}, {"value": {"type": "string", "value": "red"}}]}`,
		PathOf("configs", IntConfig): `{
  "key": "timeout", "type": "config", "valueType": "int", "access": "standard", "tags": ["api"], "sendToClientSdk": true,
  "default": {"rules": [
    {"criteria": [{"operator": "PROP_ENDS_WITH_ONE_OF", "propertyName": "user.email", "valueToMatch": {"type": "string_list", "value": ["@acme.example"]}}], "value": {"type": "int", "value": 5}},
    {"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "int", "value": 30}}]},
  "environments": [], "variants": []}`,
		PathOf("log-levels", serviceLogs): `{
  "key": "log-level.shop", "type": "log_level", "valueType": "log_level", "access": "standard", "tags": [],
  "default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "log_level", "value": "INFO"}}]},
  "environments": []}`,
	}
}

// Items are those of them that the API tells a history of: family and key.
var Items = [][2]string{{"flags", boolFlag}, {"flags", stringFlag}, {"configs", IntConfig}}
