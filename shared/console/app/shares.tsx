// The arms of a split, as a bar.
import { percent } from "./rule-lists";
import { Bare } from "./words";

/** Shares of 100; mark is a point on them. */
export function Shares({
  arms,
  mark,
}: {
  arms: { value: any; share: number; confidential?: boolean }[];
  mark?: number;
}) {
  const words = arms
    .map(
      (arm) =>
        `${percent(arm.share)} ${arm.confidential ? "confidential" : JSON.stringify(arm.value)?.slice(0, 60)}`,
    )
    .join(", ");
  return (
    <div class="shares">
      <div class="bar" role="img" aria-label={words}>
        {arms.map(
          (arm, i) => arm.share > 0 && <i class={`arm-${i % 6}`} style={{ flexGrow: arm.share }} />,
        )}
        {mark !== undefined && <b style={{ left: `${mark}%` }} />}
      </div>
      <ul>
        {arms.map((arm, i) => (
          <li>
            <i class={`dot arm-${i % 6}`} aria-hidden="true" />
            <span class="share">{percent(arm.share)}</span>{" "}
            <Bare value={arm.value} confidential={arm.confidential} />
          </li>
        ))}
      </ul>
    </div>
  );
}
