// What all environments have of a row of a list: all=<key> in the query.
import type { Row } from "./answers";
import { close, address } from "./router";
import { Dialog } from "./dialog";
import { inEnvironment } from "./items";
import { environments } from "./workspace";
import type { Family } from "./workspace";
import { Icon } from "./icons";
import { matters } from "./columns";

export function InAll({
  family,
  row,
  cleaning,
}: {
  family: Family;
  row: Row | undefined;
  cleaning: boolean;
}) {
  const shut = () => close(["all"]);
  if (!row) return null;
  const all = environments.value;
  return (
    <Dialog title={row.key} close={shut}>
      <ul class="in-all">
        {[...all.filter(matters), ...all.filter((one) => !matters(one))].map((one) => (
          <li>
            <span>
              {one.name} {one.protected && <Icon name="lock" label="protected" />}
            </span>
            <span>{inEnvironment(family, row, one.name, cleaning)}</span>
          </li>
        ))}
      </ul>
      <div class="dialog-foot">
        <a class="button" href={address([family, row.key])}>
          Open
        </a>
        <button type="button" class="primary" onClick={shut}>
          Done
        </button>
      </div>
    </Dialog>
  );
}
