"use strict";

// dark follows the system: Swagger UI has a dark scheme and waits to be told.
const dark = matchMedia("(prefers-color-scheme: dark)");
const paint = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", paint);
paint();

// The description is asked for where the page came from, and so are the
// requests that people try: the address that it names may be another origin.
const address = (relative) => new URL(relative, location.href).href.replace(/\/$/, "");

const here = (spec) => {
  spec.servers = [{ url: address(".") }];
  for (const path of Object.values(spec.paths)) {
    if (path.servers) path.servers = [{ url: address("..") }];
  }
};

const operations = (spec) => Object.values(spec.paths).flatMap((path) => Object.values(path));

// rehearsal is preset: whoever only tries a write does not write.
const rehearsal = "dryRun";

// An example of an optional parameter is not to be sent unless somebody says
// so: it narrows a list, or names a commit that is not there.
const unfilled = (spec) => {
  const own = operations(spec).flatMap((operation) => operation.parameters ?? []);
  for (const parameter of own.concat(Object.values(spec.components.parameters))) {
    if (parameter.required || parameter.example === undefined || parameter.name === rehearsal) continue;
    if (parameter.schema?.default === undefined) {
      parameter.description = `${parameter.description ?? ""} For example \`${parameter.example}\`.`;
    }
    delete parameter.example;
  }
};

const element = (name, properties, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};

// contents lists the tags, and where there is room their operations.
const contents = (spec, ui) => {
  const entry = (hash, text, ...shown) => {
    const link = element("a", { href: "#/" + hash.join("/") }, text);
    link.addEventListener("click", () => {
      for (const part of shown) ui.layoutActions.show(part, true);
      document.getElementById(shown.at(-1).join("-"))?.scrollIntoView();
    });
    return element("li", {}, link);
  };
  const tags = spec.tags.map(({ name }) => {
    const section = ["operations-tag", name];
    const own = operations(spec).filter(({ tags }) => tags?.includes(name));
    const entries = own.map(({ operationId, summary }) =>
      entry([name, operationId], summary, section, ["operations", name, operationId]));
    const tag = entry([name], name, section);
    tag.append(element("ul", {}, ...entries));
    return tag;
  });
  const key = element("button", { type: "button", title: "Enter an API key to try requests with" }, "Key");
  key.addEventListener("click", () => document.querySelector(".auth-wrapper .authorize").click());
  ui.getStore().subscribe(() => {
    const set = ui.authSelectors.authorized().size > 0;
    if (set === key.classList.contains("set")) return;
    key.classList.toggle("set", set);
    key.textContent = set ? "Key is set" : "Key";
  });
  const description = element("li", {}, element("a", { href: "openapi.json" }, "openapi.json"));
  return element("nav", { id: "contents", ariaLabel: "Contents" }, key, element("ul", {}, ...tags, description));
};

// loaded is when Swagger UI is there, or is known not to come.
const loaded = new Promise((resolve) => addEventListener("DOMContentLoaded", resolve));

loaded.then(() => {
  document.getElementById("reference").textContent = "Loading the reference ...";
});

const draw = async () => {
  const answer = await fetch("openapi.json");
  if (!answer.ok) throw new Error(`openapi.json: ${answer.status}`);
  const spec = await answer.json();
  await loaded;
  here(spec);
  unfilled(spec);
  const reference = document.getElementById("reference");
  const ui = SwaggerUIBundle({
    spec,
    domNode: reference,
    deepLinking: true,
    displayOperationId: true,
    displayRequestDuration: true,
    persistAuthorization: false, // a key lives as long as the tab shows the page
    queryConfigEnabled: false,
    tryItOutEnabled: true,
    validatorUrl: null,
  });
  reference.before(contents(spec, ui));
};

// Whatever fails, the page says where the description is.
const plain = async (error) => {
  console.error(error);
  await loaded;
  document.body.querySelectorAll(":scope > :not(noscript)").forEach((other) => other.remove());
  for (const part of document.querySelectorAll("noscript")) part.outerHTML = part.textContent;
};

draw().catch(plain);
