// What the page's script has for those that are loaded when they are wanted. Their imports of
// ../<any> are of this, once they are bundled.
export { jsx, jsxs, Fragment } from "preact/jsx-runtime";
export { useState } from "./lib";
export { address, place } from "./router";
export { change } from "./api";
export { ask, Ask } from "./ask";
export { Coming } from "./parts";
export { Empty, Problem } from "./problem";
export { Time } from "./time";
export { Field } from "./values";
export { count, sentence } from "./words";
export { environments, useGet } from "./workspace";
