// Why a commit was made, as its author says, and the change request that it has applied.
import type { Activity } from "./answers";
import { address } from "./router";

export function Why({ entry: { message, changeRequest } }: { entry: Activity }) {
  if (!message && !changeRequest) return null;
  const [title, ...why] = (message ?? "").split("\n"),
    reason = why.join("\n").trim();
  return (
    <div class="why-made">
      {changeRequest ? (
        <p>
          <a href={address(["requests", changeRequest.id])}>
            {title || `Change request ${changeRequest.id}`}
          </a>{" "}
          <span class="note">
            proposed by {changeRequest.author}
            {changeRequest.approvedBy.length > 0 &&
              `, approved by ${changeRequest.approvedBy.join(", ")}`}
          </span>
        </p>
      ) : (
        <p>{title}</p>
      )}
      {reason && <p class="said">{reason}</p>}
    </div>
  );
}

/** What a commit did, without what is shown of it as why it was made. */
export const withoutWhy = ({ messages, message }: Activity) =>
  message && messages[0]?.message === message.split("\n")[0] ? messages.slice(1) : messages;
