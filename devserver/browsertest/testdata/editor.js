// What VS Code makes of the files that its arguments name, as JSON: by its own
// language service, with nothing set up. Of each file: the address of its schema's
// file, what is wrong, and what is offered in the place of the first operator.
import { readFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import languageService from "vscode-json-languageservice";

const { getLanguageService, TextDocument } = languageService;
const service = getLanguageService({
  workspaceContext: { resolveRelativePath: (path, file) => new URL(path, file).href },
  schemaRequestService: async (address) => readFileSync(fileURLToPath(address), "utf8"), // and no request
});
service.configure({ allowComments: false, validate: true });

const answers = {};
for (const path of process.argv.slice(1)) {
  const file = TextDocument.create(pathToFileURL(path).href, "json", 1, readFileSync(path, "utf8"));
  const json = service.parseJSONDocument(file);
  const offered = async (text) => {
    const at = file.getText().indexOf(text);
    if (at < 0) return null;
    const list = await service.doComplete(file, file.positionAt(at + text.length), json);
    return list.items.map((item) => item.label).sort();
  };
  answers[path] = {
    problems: (await service.doValidation(file, json)).map((problem) => problem.message),
    operators: await offered('"operator": '),
    types: await offered('"type": '),
    hover: (await service.doHover(file, file.positionAt(file.getText().indexOf('"valueType"') + 1), json))?.contents,
  };
}
console.log(JSON.stringify(answers));
