// The parts of the settings, for whatever leads there.

/**
 * The parts of the settings: what each is called, what it is for, what is added
 * there, and which other words find it. */
export const parts: Record<
  string,
  { title: string; note: string; add?: [string, string][]; found?: string }
> = {
  you: { title: "You", note: "Who you are here, what you may do, and keys of your own." },
  people: {
    title: "People",
    note: "People and service accounts: who may do what, and how they get in.",
    add: [
      ["add-person", "Add a person"],
      ["add-service", "Add a service account"],
    ],
  },
  keys: {
    title: "SDK keys",
    note: "Applications ask with a key of one environment.",
    add: [["new-key", "New key"]],
  },
  environments: {
    title: "Environments",
    note: "Where flags and configs have rules of their own, and whose changes others approve.",
    found: "review rules approvals protect archive",
    add: [["add", "Add an environment"]],
  },
  webhooks: {
    title: "Webhooks",
    note: "Chats and programs that are told of changes.",
    add: [["add", "Add a webhook"]],
  },
  "sign-in": {
    title: "Signing in",
    note: "The provider that people sign in with. Whoever runs the server names it.",
    found: "oidc openid connect single sign-on provider",
  },
  audit: { title: "Audit trail", note: "Who changed people, keys and environments, and when." },
};
