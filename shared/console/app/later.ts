// What no first view needs: a file of its own, loaded once the browser has nothing else to do,
// or when it is wanted (apart.tsx). A view that is added is named here, and drawn by apart.
import "./main"; // so that what both files need is in the first one, and not in a third
export { Activity } from "./activity";
export { Bulk } from "./bulk";
export { Change } from "./change";
export { Clients } from "./clients";
export { Columns } from "./columns-dialog";
export { Compare } from "./compare";
export { Contexts } from "./contexts";
export { Create } from "./create";
export { Document } from "./document";
export { Evaluate } from "./evaluate";
export { Evaluations } from "./evaluations";
export { Form } from "./override-form";
export { History } from "./history";
export { InAll } from "./in-all";
export { InCode } from "./in-code";
export { OneContext } from "./one-context";
export { Overrides } from "./overrides";
export { OneRequest } from "./request";
export { Problems } from "./problems";
export { Requests } from "./requests";
export { Saved } from "./saved";
export { Settings } from "./settings";
export { Timed } from "./timed";
