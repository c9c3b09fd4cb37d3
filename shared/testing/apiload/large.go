package apiload

import "fmt"

// flagFile is a flag of an ordinary size, a bit more than a kilobyte.
const flagFile = `{
  "key": "%[1]s",
  "type": "feature_flag",
  "valueType": "bool",
  "name": "Feature %[2]d",
  "description": "What this switches on, for whom, and until when",
  "access": "standard",
  "tags": ["team-%[3]d", "web"],
  "default": {
    "rules": [
      {
        "criteria": [
          {
            "operator": "PROP_IS_ONE_OF",
            "propertyName": "user.plan",
            "valueToMatch": {"type": "string_list", "value": ["plan-%[3]d", "team"]}
          }
        ],
        "value": {"type": "bool", "value": true}
      },
      {
        "criteria": [{"operator": "ALWAYS_TRUE"}],
        "value": {"type": "bool", "value": false}
      }
    ]
  },
  "environments": [
    {
      "id": "production",
      "rules": [
        {
          "criteria": [{"operator": "ALWAYS_TRUE"}],
          "value": {"type": "bool", "value": true}
        }
      ]
    }
  ],
  "variants": [
    {"value": {"type": "bool", "value": true}},
    {"value": {"type": "bool", "value": false}}
  ]
}
`

// FlagKey is the key of one of ManyFlags.
func FlagKey(i int) string { return fmt.Sprintf("team%d.feature-%d", i%20, i) }

// ManyFlags are the files of a workspace of so many flags.
func ManyFlags(flags int) map[string]string {
	files := map[string]string{"svc.json": "{\n  \"environments\": [\n    \"development\",\n    \"production\"\n  ]\n}\n"}
	for i := range flags {
		files[PathOf("flags", FlagKey(i))] = fmt.Sprintf(flagFile, FlagKey(i), i, i%50)
	}
	return files
}
