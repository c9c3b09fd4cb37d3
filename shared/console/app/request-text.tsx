// What a change request is called, and why it is made: two fields.
import { Field } from "./values";

export const longestTitle = 200;

/** Whether a title is one that the server takes. */
export const fits = (title: string) =>
  Boolean(title.trim()) && [...title.trim()].length <= longestTitle;

export function RequestText({
  title,
  setTitle,
  description,
  setDescription,
}: {
  title: string;
  setTitle: (text: string) => void;
  description: string;
  setDescription: (text: string) => void;
}) {
  return (
    <>
      <Field
        type="line"
        label="Title"
        text={title}
        set={setTitle}
        problem={
          title.trim() && !fits(title)
            ? `Up to ${longestTitle} characters: the description has room for more.`
            : undefined
        }
        autofocus
      />
      <Field
        type="string"
        label="Why (optional)"
        note="For those who approve it."
        text={description}
        set={setDescription}
      />
    </>
  );
}
