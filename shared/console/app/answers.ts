// What the REST API answers, as far as the console reads it. More fields may come:
// they are passed over.

export type Json = any;

export interface Value {
  type: string;
  value?: Json;
  confidential?: boolean;
  decryptWith?: string;
}

export interface Arm {
  value: Value;
  weight: number;
}

export interface Split {
  type: "weighted_values";
  value: { weightedValues: Arm[]; hashByPropertyName?: string };
}

export interface Criterion {
  operator: string;
  propertyName?: string;
  valueToMatch?: Value;
}

export interface Rule {
  criteria: Criterion[];
  value: Value | Split;
  /** It stands before all others until the scope is resumed. */
  paused?: boolean;
  /** It was made for a time: "change", "rollout" or "hold". */
  scheduled?: string;
}

export interface PlanStep {
  at: string;
  percent: number;
}

/** A value that more and more people get. */
export interface Plan {
  value: Value;
  from: Value;
  hashByPropertyName: string;
  steps: PlanStep[];
  before: number;
  percent: number;
  step?: number;
  next?: PlanStep;
  held?: { since: string };
  replacesTargeting?: boolean;
}

/** What a scope has beside its rules. */
export interface Timed {
  paused?: boolean;
  scheduled?: { at: string; value: Rule["value"]; replacesTargeting?: boolean; come?: boolean }[];
  rolloutPlan?: Plan;
}

export interface Variant {
  name?: string;
  description?: string;
  value: Value;
}

export interface LastModified {
  date: string;
  author: string;
}

/** A bare value as lists have it: what is long is cut, and what is secret left out. */
export interface Short {
  value?: Json;
  confidential?: boolean;
  truncated?: boolean;
}

/** What is served after so many rules. */
export interface Serving extends Short {
  paused?: boolean;
  rules?: number;
  split?: (Short & { percent: number })[];
}

/** A row of a list: a flag, a config, a segment or a service's log levels. */
export interface Row {
  key: string;
  name?: string;
  description?: string;
  owner?: string;
  valueType?: string;
  tags?: string[];
  readyForCleanup?: boolean;
  environmentStatuses?: Record<string, string>;
  /** where something is scheduled */
  scheduled?: string[];
  /** By scope; an environment that is not there serves what default does. */
  serves?: Record<string, Serving>;
  /** Where it was asked for. */
  stale?: { code: string; message: string; value?: Json }[];
  sendToClientSdk?: boolean;
  ruleCount?: number;
  scopes?: LevelScope[];
  commitSha: string;
  lastModified?: LastModified | string;
  lastEvaluatedAt?: string;
  /** What a search looks through; made here. */
  text?: string;
}

export interface LevelScope {
  scope: string;
  fallbackLevel?: string;
  targets: { target: string; level: string }[];
  otherRuleCount: number;
}

export interface Detail extends Row {
  default: Timed & { rules: Rule[] };
  environments?: (Timed & { id: string; rules: Rule[] })[];
  access?: string;
  variants?: Variant[];
  schemaKey?: string;
  lastModified?: LastModified;
}

export interface Environment {
  name: string;
  environmentType: string;
  protected: boolean;
}

export interface Who {
  workspaceId: string;
  keyId: string;
  principal: { type: string; id: string; name: string };
  permissions?: string[];
}

export interface Message {
  scope: string;
  message: string;
}

export interface Activity {
  sha: string;
  date: string;
  authorName: string;
  authorEmail: string;
  isServiceAccount: boolean;
  action: string;
  type: string | null;
  key: string | null;
  messages: Message[];
  /** who may take it back */
  guard?: string;
  /** the commits that it takes back */
  undoes?: string[];
  /** what its author has said of it */
  message?: string;
  changeRequest?: { id: string; author: string; approvedBy: string[] };
  items?: ItemName[];
  itemCount?: number;
}

export interface ItemName {
  type: string;
  key: string;
}

export interface Issue {
  path: string;
  message: string;
}

export interface Impact {
  contexts: number;
  changed: number;
  /** for how many of them chance decides each time */
  chance?: number;
  complete: boolean;
  values: { key: string; before?: Json; after?: Json; confidential?: boolean; count: number }[];
  examples: {
    type: string;
    contextKey: string;
    name: string | null;
    key: string;
    before?: Json;
    after?: Json;
    confidential?: boolean;
  }[];
}

export interface ItemOutcome {
  type?: string;
  key: string;
  changed: boolean;
  messages: Message[];
  /** the document before and after, of the first ones of a dry run */
  before?: Json;
  after?: Json;
}

export interface Outcome {
  results?: ItemOutcome[];
  key?: string;
  changed?: boolean;
  commitSha: string;
  previousCommitSha?: string;
  messages?: Message[];
  warnings?: Issue[];
  impact?: Record<string, Impact>;
  document?: Json;
  /** the environments of which it has to be approved first */
  reviewRequired?: string[];
  preservedTargetingRuleCount?: number;
  replacedTargetingRuleCount?: number;
}

export interface Tried {
  ruleSource: string;
  index: number;
  matched: boolean;
  member?: boolean;
  criteria: TriedCriterion[];
  split?: { property?: string; hash?: number; point: number; arms: TriedArm[] };
}

export interface TriedCriterion {
  operator: string;
  propertyName?: string;
  expected?: Json;
  actual?: Json;
  present: boolean;
  holds: boolean;
  confidential?: boolean;
  truncated?: boolean;
  segment?: Tried[];
}

export interface TriedArm {
  value?: Json;
  confidential?: boolean;
  truncated?: boolean;
  from: number;
  to: number;
  chosen: boolean;
}

export interface Evaluation {
  value?: Json;
  valueType: string;
  reason?: string;
  ruleSource: string | null;
  confidential?: boolean;
  explanation?: Tried[];
}

export interface SavedContext {
  type: string;
  key: string;
  name: string | null;
  email?: string;
  environment: string;
  lastSeenAt: string;
  context?: Json;
}

/** The counts of a UTC day. */
export interface EvaluatedDay {
  day: string;
  total: number;
  values: { value: Json; count: number }[];
}

export interface Person {
  type: string;
  id: string;
  name: string;
}

/** A change set that waits for others; what is optional is told where it is read alone. */
export interface ChangeRequest {
  id: string;
  state: string;
  title: string;
  author: Person;
  createdAt: string;
  updatedAt: string;
  expiresAt: string | null;
  items: ItemName[];
  itemCount: number;
  approvals: { by: Person; at: string; counts?: boolean; why?: string }[];
  commentCount: number;
  endedBy: Person | null;
  endedAt: string | null;
  commitSha: string | null;
  description?: string;
  operations?: any[];
  comments?: { by: Person; at: string; text: string }[];
  preview?: RequestPreview;
}

/** What an open change request would do now. */
export interface RequestPreview {
  digest: string | null;
  conflict: { error: string; message: string; details?: any } | null;
  results: ItemOutcome[];
  warnings: Issue[];
  impact?: Record<string, Impact>;
  requirements: Requirement[];
  approved: boolean;
  changedSince: ItemName[];
}

/** By how many a change of an environment has to be approved. */
export interface Requirement {
  environment: string;
  approvals: number;
  given: number;
  roles: string[];
  authorMayApprove: boolean;
}
