// Many items of a list at once, as one change set: bulk=<what> in the query.
import { lists, families } from "./workspace";
import type { Family } from "./workspace";
import { place, close } from "./router";
import { selected, deeds } from "./selection";
import { Dialog } from "./dialog";
import { count } from "./words";
import { Deed } from "./deed";

export function Bulk({ family }: { family: Family }) {
  const what = place.value.query.get("bulk") ?? "";
  const keys = selected(family),
    rows = lists[family].value.rows.filter((row) => keys.has(row.key));
  const shut = () => close(["bulk"]);
  const word = deeds(family).find(([name]) => name === what)?.[1];
  if (!word) return null;
  if (lists[family].value.state !== "here") return null;
  // A page that is loaded at this address has nothing selected.
  if (rows.length === 0)
    return (
      <Dialog title={word} close={shut}>
        <p class="note">Nothing is selected. Select items in the list first.</p>
        <div class="dialog-foot">
          <button type="button" onClick={shut}>
            Close
          </button>
        </div>
      </Dialog>
    );
  return (
    <Dialog
      title={`${word}: ${rows.length === 1 ? rows[0].key : count(rows.length, families[family].one)}`}
      close={shut}
    >
      <Deed key={what} family={family} what={what} rows={rows} shut={shut} />
    </Dialog>
  );
}
