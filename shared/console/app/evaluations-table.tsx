// The days of evaluations as a table.
import { nameOf, dayWords } from "./counts";
import type { Counts } from "./counts";
import type { Activity } from "./answers";
import { saidInLine } from "./said";

export function Table({
  name,
  counts,
  of,
}: {
  name: string;
  counts: Counts;
  of: (day: number) => Activity[];
}) {
  const { days, totals, series } = counts;
  return (
    <details class="as-table">
      <summary>As a table</summary>
      <div
        class="table"
        tabindex={0}
        role="region"
        aria-label={`Evaluations in ${name}, day by day`}
      >
        <table>
          <thead>
            <tr>
              <th scope="col">Day</th>
              <th scope="col">Total</th>
              {series.map((one) => (
                <th scope="col">{nameOf(one)}</th>
              ))}
              <th scope="col">Changes</th>
            </tr>
          </thead>
          <tbody>
            {days
              .map(
                (day, i) =>
                  (totals[i] > 0 || of(i).length > 0) && (
                    <tr>
                      <th scope="row">{dayWords.format(Date.parse(day))}</th>
                      <td>{totals[i].toLocaleString("en")}</td>
                      {series.map((one) => (
                        <td>{one.counts[i].toLocaleString("en")}</td>
                      ))}
                      <td>
                        {of(i).map((one) => (
                          <p>
                            {one.authorName}:{" "}
                            {one.messages.map((message) => saidInLine(message)).join(", ")}
                          </p>
                        ))}
                      </td>
                    </tr>
                  ),
              )
              .reverse()}
          </tbody>
        </table>
      </div>
    </details>
  );
}
