// What cannot be read as it stands, and is served as it last was good.
import { workspace, families } from "./workspace";
import type { Family } from "./workspace";
import { Icon } from "./icons";
import { tokenGiven } from "./api";
import { count, sentence } from "./words";
import { address } from "./router";

/** One item, whose page it is, or all that there are. */
export function Broken({ of }: { of?: { family: Family; key: string } }) {
  const all = workspace.value.broken ?? [],
    mine = of && all.find((one) => one.type === families[of.family].type && one.key === of.key);
  // What is declared for all items is of each.
  const shown = !of ? all : all.filter((one) => one === mine || one.type === "workspace");
  if (!shown.length) return null;
  return (
    <div class="box warn broken">
      <Icon name="warning" />
      <div>
        <p>
          {mine ? (
            <>
              This {tokenGiven ? "file" : "document"} cannot be read as it stands.{" "}
              {mine.servedFrom ? (
                <>
                  What is served of it is the last good version, of{" "}
                  <code>{mine.servedFrom.slice(0, 10)}</code>.
                </>
              ) : (
                "It has never been good, and is not served."
              )}
            </>
          ) : (
            `${count(shown.length, "document")} cannot be read as ` +
            `${shown.length === 1 ? "it stands" : "they stand"}. ` +
            "Applications are served the last good version."
          )}
        </p>
        <ul>
          {shown.slice(0, 5).map((one) => (
            <li>
              <code>{one.key ?? one.type}</code> {sentence(one.problem)}
            </li>
          ))}
        </ul>
        {tokenGiven && (
          <p>
            <a href={address(["problems"])}>See the problems</a>
          </p>
        )}
      </div>
    </div>
  );
}
