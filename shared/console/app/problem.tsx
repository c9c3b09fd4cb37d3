// Why something could not be shown, or that there is nothing.
import { away, epoch } from "./api";
import type { Refusal } from "./api";
import { sentence } from "./words";
import { Icon } from "./icons";

export const Empty = ({ title, children }: { title: string; children?: any }) => (
  <div class="empty">
    <h2>{title}</h2>
    {children}
  </div>
);

/** Why something could not be shown. */
export function Problem({ problem }: { problem: Refusal }) {
  if (problem.status === 0 && away.value)
    return (
      <Empty title="Waiting for the server">
        <p>What belongs here is shown as soon as it answers.</p>
      </Empty>
    );
  if (problem.status === 404)
    return (
      <Empty title="There is nothing here">
        <p>{sentence(problem.message)}</p>
      </Empty>
    );
  return (
    <div class="box bad" role="alert">
      <Icon name="warning" />
      <div>
        <p>{sentence(problem.message)}</p>
        {problem.requestId && <p class="note">Request {problem.requestId}</p>}
        {(problem.status === 429 || problem.status >= 500) && (
          <button type="button" onClick={() => epoch.value++}>
            Try again
          </button>
        )}
      </div>
    </div>
  );
}
