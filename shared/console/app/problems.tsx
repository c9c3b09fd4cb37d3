// What svc verify finds in the directory.
import { useFresh } from "./fresh";
import { useGet } from "./workspace";
import { Heading } from "./heading";
import { Problem, Empty } from "./problem";
import { Coming } from "./parts";
import { Icon } from "./icons";
import { sentence } from "./words";

export type Found = {
  severity: string;
  code: string;
  file: string;
  line?: number;
  column?: number;
  path: string;
  message: string;
};

export function Problems() {
  useFresh();
  const { data, problem } = useGet("problems");
  const all: Found[] = data?.problems ?? [];
  const counted =
    data &&
    [
      [data.errors, "error"],
      [data.warnings, "warning"],
    ]
      .filter(([n]) => n > 0)
      .map(([n, word]) => `${n} ${word}${n === 1 ? "" : "s"}`)
      .join(", ");
  return (
    <>
      <Heading
        title="Problems"
        note={
          data
            ? counted || `${data.files} files, and nothing wrong with them`
            : "What svc verify says"
        }
      />
      {problem && <Problem problem={problem} />}
      {!data && !problem && <Coming />}
      {data && !all.length && (
        <Empty title="All is well">
          <p>Every file can be served as it stands.</p>
        </Empty>
      )}
      {all.length > 0 && (
        <ol class="feed apart">
          {all.map((one, i) => (
            <li key={i}>
              <div class="what">
                <p class={one.severity}>
                  <Icon name="warning" label={one.severity} />{" "}
                  <code>
                    {one.file}
                    {one.line ? `:${one.line}` : ""}
                  </code>{" "}
                  {one.path && <code class="note">{one.path}</code>}
                </p>
                <p>{sentence(one.message)}</p>
              </div>
              <p class="note when">
                <code>{one.code}</code>
              </p>
            </li>
          ))}
        </ol>
      )}
    </>
  );
}
