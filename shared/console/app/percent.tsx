// A percentage that is typed.
import { useState } from "./lib";
import { useFirst } from "./dialog";

export function Percent({
  label,
  weight,
  set,
  first,
}: {
  label: string;
  weight: number;
  set: (weight: number) => void;
  first: boolean;
}) {
  const [typed, type] = useState(undefined as string | undefined); // as long as somebody types, it stays as it is typed
  return (
    <input
      type="number"
      {...useFirst(first)}
      min="0"
      max="100"
      step="any"
      aria-label={label}
      value={typed ?? weight / 1000}
      onBlur={() => type(undefined)}
      onInput={(event: any) => {
        type(event.target.value);
        if (event.target.value !== "") set(event.target.value * 1000);
      }}
    />
  );
}
