// The repository elsewhere that every commit is pushed to, where somebody has to see to it.
import { workspace } from "./workspace";
import { Icon } from "./icons";
import { count, sentence } from "./words";
import { address } from "./router";

export function Remote() {
  const remote = workspace.value.remote;
  if (!remote || (remote.state !== "waiting" && remote.state !== "stopped")) return null;
  return (
    <div class="box warn">
      <Icon name="warning" />
      <div>
        <p>
          The remote <code>{remote.address}</code> lacks {count(remote.behind, "commit")}.{" "}
          {remote.changeRequest && (
            <a href={address(["requests", remote.changeRequest])}>See what is to be decided</a>
          )}
        </p>
        {remote.reason && <p>{sentence(remote.reason)}</p>}
      </div>
    </div>
  );
}
